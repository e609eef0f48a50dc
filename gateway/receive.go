package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/strangers"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// proofTimeout limits the time to answer an endpoint check or verify a request, for providers that
// must fetch a key. The shortest known deadline of a sender with such a provider is 3 s, and the
// commit needs a part of those 3 s.
const proofTimeout = 1 * time.Second

// reception is one request to a source, from its header to its response.
type reception struct {
	gateway *Gateway
	source  *source // nil if no source has that name
	echo    echo.Context
	ctx     context.Context // carries the span
	span    trace.Span
	started time.Time
	arrived time.Time          // arrival of a quarantined delivery, by the database's clock; zero for other requests
	secrets *usable            // secrets accepted at arrival or, for a quarantined delivery, now
	retry   provider.RetryInfo // retry information from a verified request's sender

	flight   flight
	request  *provider.Request // for the quarantine; nil until the body is read completely
	signed   *provider.Request // the form that the signature covers
	inFlight bool
	bodyRead bool
	bodySize int
	// memory is the body's reservation in the budget, nil before the body is read. Once the
	// body is handed over, the outbox also releases the reservation.
	memory     *reservation
	handedOver bool
	unawaited  bool // the outbox stopped waiting for the outcome
	judging    bool // true while progress counts the request as underway
	trial      bool // if true, nothing is accepted or counted
}

func (g *Gateway) receive(c echo.Context) error {
	rx := &reception{
		gateway: g,
		source:  (*g.sources.Load())[c.Param("source")],
		echo:    c,
		started: g.opts.Now(),
	}
	rx.ctx, rx.span = g.startSpan(c, rx.source)
	defer rx.leave()

	reply, refused := rx.take()
	if refused != nil {
		rx.observeRefusal(refused)
		rx.decided(false) // keep still follows the response
		rx.hangUpIfNeeded(refused)
		refused.bare = rx.source != nil && rx.source.Provider.Bare
		err := refused.asking(rx.source).write(c)
		rx.keep(refused)
		return err
	}
	rx.observeReply(reply)
	rx.noteSender(reply)
	rx.decided(true)
	rx.hangUpIfNeeded(nil)
	return reply.write(c)
}

// decided records that the response is known, and frees the commit slot before the sender reads the
// response. If onlyResponse is true, a drain no longer waits for the request.
func (rx *reception) decided(onlyResponse bool) {
	rx.judged()
	if rx.inFlight {
		rx.gateway.flights.decided(&rx.flight, onlyResponse)
	}
}

func (rx *reception) leave() {
	rx.judged()
	// If the sender has hung up, or the outbox stopped waiting, the outbox may still hold the body.
	// In that case, the outbox releases the reservation.
	if rx.memory != nil && (!rx.handedOver || !rx.unawaited && rx.ctx.Err() == nil) {
		rx.memory.release()
	}
	if rx.inFlight {
		rx.gateway.flights.leave(&rx.flight)
	}
	rx.span.End()
}

// take determines the response to a request. Exactly one result is set. A panic becomes a refusal:
// take fails closed, never with 2xx.
func (rx *reception) take() (_ *reply, refused *refusal) {
	defer refuseIfPanicked(&refused)
	if refused := rx.admit(); refused != nil {
		return nil, refused
	}
	request, refused := rx.read()
	if refused != nil {
		return nil, refused
	}
	if err := failpoint.Hit("gateway.body_read"); err != nil {
		return nil, refuseUnavailable("failpoint", err)
	}
	rx.secrets = rx.source.keys.at(rx.started)
	rx.judging = true
	rx.gateway.progress.begun.Add(1)
	return rx.judge(request)
}

// judge decides on a complete request: it answers an endpoint check, verifies and commits a
// delivery, or refuses. Exactly one result is set.
func (rx *reception) judge(request *provider.Request) (*reply, *refusal) {
	proof := withPatience(rx.ctx, proofTimeout)
	defer proof.end()
	if len(rx.secrets.values) == 0 && !rx.source.Provider.Keyless {
		// Our configuration is at fault, so the sender should try again.
		return nil, refuseUnavailable(reasonNoValidSecret, errNoValidSecret)
	}
	if !rx.source.accepts(encodingOf(request.Header)) { // possible only for a quarantined delivery: admit checks all others
		return nil, refuseEncoding(rx.source)
	}
	if rx.source.Gzip == GzipUnpacked {
		inside, refused := rx.unpack(request)
		if refused != nil {
			return nil, refused
		}
		if request = inside; rx.request != nil {
			rx.request = inside // keep the unpacked body, because an erasure searches for its hash
		}
	}
	if handshake, refused := rx.handshake(proof, request); handshake != nil || refused != nil {
		return handshake, refused
	}
	verified, err := rx.source.Provider.Verify(proof, request, rx.secrets.values, rx.started)
	if err != nil {
		return nil, refuseProof(err)
	}
	rx.prove()
	rx.signed = request
	request, refused := rx.unpack(request)
	if refused != nil {
		return nil, refused
	}
	rx.retry = rx.source.retry(request)
	position := rx.secrets.position(verified)
	if !rx.trial {
		rx.gateway.meters.proven(rx.ctx, rx.source, position, rx.retry)
		rx.source.tally.proven(position, rx.retry)
	}
	if err := failpoint.Hit("gateway.verified"); err != nil {
		return nil, refuseUnavailable("failpoint", err)
	}
	return rx.accept(request)
}

// judgeSafely calls judge for callers outside take and turns a panic into a refusal.
func (rx *reception) judgeSafely(request *provider.Request) (_ *reply, refused *refusal) {
	defer refuseIfPanicked(&refused)
	return rx.judge(request)
}

// admit decides by the header alone, before any byte of the body is read.
func (rx *reception) admit() *refusal {
	request := rx.echo.Request()
	switch {
	case rx.source == nil:
		return refuseUnknownSource()
	case !rx.source.allows(request.Method):
		return refuseMethod(rx.source.allow())
	case !rx.source.accepts(encodingOf(request.Header)):
		return refuseEncoding(rx.source)
	}
	rx.newFlight()
	if refused := rx.gateway.flights.arrive(&rx.flight); refused != admitted {
		return refuseUnavailable(string(refused), nil)
	}
	rx.inFlight = true
	return nil
}

func (rx *reception) newFlight() {
	address := addressOf(rx.echo.RealIP())
	rx.flight = flight{
		from: origin{source: rx.source.Name, address: address}, cell: rx.source.cell.Name, network: strangers.Network(address),
		known: rx.gateway.knowsOrigin(rx.source, address), began: time.Now(),
		// Echo wraps net/http's own Writer; the controller needs the inner one.
		connection: http.NewResponseController(rx.echo.Response().Writer),
	}
}

// read reads the body, and takes a commit slot once the body is complete.
func (rx *reception) read() (*provider.Request, *refusal) {
	known := rx.flight.known
	rx.memory = rx.gateway.memory.reservation(rx.source, known)
	pace := rx.newPace()
	body, refused := rx.readBody(&pace)
	if refused != nil {
		return nil, refused
	}
	rx.bodyRead, rx.bodySize = true, len(body)
	place := rx.gateway.flights.place(&rx.flight)
	pace.done()
	if rx.flight.thrownOut.Load() {
		// net/http keeps reading after the body. It mistakes the deadline that evicted the
		// body for a sender that hung up.
		rx.ctx = context.WithoutCancel(rx.ctx)
		hangUp(rx.echo)
	}
	if place != admitted {
		return nil, refuseUnavailable(string(place), nil)
	}
	r := rx.echo.Request()
	rx.request = &provider.Request{
		Method: r.Method, URL: rx.gateway.publicURL(rx.source, r), Header: r.Header, Body: body,
		Client: rx.flight.from.address, Known: known,
	}
	return rx.request, nil
}

// prove records that the sender is verified: the delivery no longer counts against its address
// or among unknown senders.
func (rx *reception) prove() {
	rx.memory.prove()
	if rx.inFlight {
		rx.gateway.flights.prove(&rx.flight)
	}
}

// handshake answers the sender's endpoint check. Both results are nil if the request is an
// ordinary delivery.
func (rx *reception) handshake(ctx context.Context, request *provider.Request) (*reply, *refusal) {
	// A POST whose body is still packed counts as a delivery, because the body may contain an
	// event.
	packed := len(request.Body) > 0 && encodingOf(request.Header) != ""
	if rx.source.Provider.Handshake == nil || packed && request.Method == http.MethodPost {
		return nil, nil
	}
	answer, err := rx.source.Provider.Handshake(ctx, request, rx.secrets.values, rx.started)
	switch {
	case err != nil:
		return nil, refuseProof(err)
	case answer == nil:
		return nil, nil
	}
	return &reply{result: resultHandshake, answer: *answer}, nil
}

// accept extracts the events from a verified request and commits them. It replies only after
// the commit (I1, I3).
func (rx *reception) accept(request *provider.Request) (*reply, *refusal) {
	if rx.source.Livemode && rx.source.Provider.TestEvent(request) {
		return nil, refuseTest()
	}
	events, err := rx.source.Provider.Events(request)
	if err != nil {
		return nil, refuseEvents(err)
	}
	// Provider.Answer runs before the commit: if it panics, the response is 500 and nothing is
	// stored.
	var answer *provider.Answer
	if rx.source.Provider.Answer != nil {
		answer = rx.source.Provider.Answer(request)
	}
	if len(events) == 0 || rx.trial {
		return replyTo(outbox.Acceptance{}, answer), nil
	}
	// The outbox gets the request's context: if the client hangs up, Accept returns at once. The
	// outbox may still commit the delivery, with a context of its own.
	acceptance, err := rx.source.cell.Accepter.Accept(rx.ctx, rx.delivery(request, events))
	rx.handedOver, rx.unawaited = true, errors.Is(err, outbox.ErrUnavailable)
	if err != nil {
		return nil, refuseAccept(err)
	}
	if len(acceptance.Events) != len(events) {
		return nil, refuseFault("accepter", errors.New("accept: the outbox returned a different number of events than it was given"))
	}
	if acceptance.Refused() > 0 {
		rx.gateway.meters.replays.Add(rx.ctx, 1, rx.source.counted.source)
		return nil, refuseReplay(acceptance)
	}
	return replyTo(acceptance, answer), nil
}

func (rx *reception) delivery(request *provider.Request, events []provider.Event) outbox.Delivery {
	incoming := make([]outbox.Incoming, len(events))
	for i, e := range events {
		incoming[i] = outbox.Incoming{
			ID: identity.EventID(e.ID), Type: e.Type, APIVersion: e.APIVersion, OccurredAt: e.OccurredAt, Item: e.Item, Part: e.Part,
		}
	}
	contentType, body := request.Header.Get(echo.HeaderContentType), request.Body
	if content := rx.source.Provider.Content; content != nil {
		if kind, text := content(request); text != nil {
			contentType, body = kind, text
		}
	}
	return outbox.Delivery{
		Source:        identity.Source(rx.source.Name),
		Provider:      rx.source.Provider.Name,
		Headers:       rx.source.storedHeaders(request.Header),
		ContentType:   contentType,
		Body:          body,
		Events:        incoming,
		Handlers:      rx.source.Handlers,
		ReplayGuard:   rx.source.replayGuard(rx.signed, events),
		ContentWindow: rx.source.ContentWindow,
		ArrivedAt:     rx.arrived,
		RetryNumber:   rx.retry.Number,
		RetryReason:   rx.retry.Reason,
		Traceparent:   tracing.Parent(rx.ctx),
		Release:       rx.memory.release,
	}
}

// hangUpIfNeeded closes the connection after the response to an unread body, to a chunked body,
// and to a request refused because the gateway drains. A request with both Content-Length and
// Transfer-Encoding reaches us as chunked only. If a proxy in front trusted the length, the proxy
// misreads what follows on the connection (RFC 9112, 6.3).
func (rx *reception) hangUpIfNeeded(refused *refusal) {
	switch {
	case !rx.bodyRead:
		hangUpOnUnreadBody(rx.echo)
	case len(rx.echo.Request().TransferEncoding) > 0:
		hangUp(rx.echo)
	}
	if refused != nil && refused.reason == string(refusedDraining) {
		hangUp(rx.echo)
	}
}

// startSpan begins a delivery's span. The sender's trace context becomes a link: unknown
// senders must not choose our trace ids or decide what is sampled. Unknown sources get no
// span. If spans are discarded, startSpan starts none, because building a span's attributes
// would cost more than reading the events.
func (g *Gateway) startSpan(c echo.Context, src *source) (context.Context, trace.Span) {
	ctx := c.Request().Context()
	if src == nil || g.tracer == nil {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return g.tracer.Start(ctx, "receive "+src.Name, spanOptions(c.Request(), src)...)
}
