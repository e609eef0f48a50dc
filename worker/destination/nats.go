package destination

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// natsPing is the interval of the pings that detect a lost connection.
const natsPing = 5 * time.Second

// NATS sends effects of kind "nats": it publishes their bodies to streams of NATS JetStream. The
// URL of a request is its subject. The idempotency key is the Nats-Msg-Id, so the stream stores a
// message once within its duplicate window.
type NATS struct {
	broker

	options nats.Options
	*link[*nats.Conn]
	calls sync.Map // *natsCall: attempts that wait for an acknowledgement
}

// natsCall is an attempt that waits for an acknowledgement.
type natsCall struct {
	subject string
	cancel  context.CancelCauseFunc
}

// NewNATS checks the options. It does not connect.
func NewNATS(o NATSOptions) (*NATS, error) {
	o = o.WithDefaults()
	if o.Name == "" {
		return nil, errors.New("nats destination: Name is required")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("nats destination %q: %w", o.Name, err)
	}
	b, err := newBroker(KindNATS, o.Subject, o.BrokerOptions, o.Token.Reveal(), o.Credentials.Reveal())
	if err != nil {
		return nil, fmt.Errorf("nats destination %q: %w", o.Name, err)
	}
	b.ownHeaders = "Nats-" // such as Nats-Rollup, which deletes messages
	n := &NATS{broker: b, options: nats.GetDefaultOptions()}
	n.options.Name = userAgent
	// The next attempt connects again. A client that reconnects automatically would later send
	// messages of attempts that have given up.
	n.options.AllowReconnect = false
	n.options.SkipHostLookup, n.options.IgnoreDiscoveredServers = true, true
	n.options.PingInterval, n.options.MaxPingsOut = natsPing, 1
	n.options.Secure, n.options.TLSConfig = o.TLS, b.tls
	n.options.User, n.options.Password, n.options.Token = o.Username, o.Password.Reveal(), o.Token.Reveal()
	n.options.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) { n.denied(err) }
	if !o.Credentials.IsZero() {
		if err := nats.UserCredentialBytes([]byte(o.Credentials.Reveal()))(&n.options); err != nil {
			return nil, fmt.Errorf("nats destination %q: credentials are not valid", o.Name)
		}
	}
	n.link = newLink(n.connect, func(c *nats.Conn) bool { return c.IsConnected() }, func(c *nats.Conn) { c.Close() })
	return n, nil
}

// natsDialer implements nats.CustomDialer.
type natsDialer func(network, address string) (net.Conn, error)

// Dial implements nats.CustomDialer.
func (d natsDialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

func (n *NATS) connect(ctx context.Context) (*nats.Conn, error) {
	return firstServer(ctx, &n.broker, n.connectTo)
}

func (n *NATS) connectTo(ctx context.Context, server string) (*nats.Conn, error) {
	o := n.options
	o.Url = "nats://" + server
	if deadline, ok := ctx.Deadline(); ok {
		o.Timeout = max(time.Until(deadline), time.Millisecond)
	}
	plain, err := n.dial(ctx, server) // dial here, because the client hides dial errors
	if err != nil {
		return nil, err
	}
	o.CustomDialer = natsDialer(func(string, string) (net.Conn, error) { return plain, nil })
	stop := context.AfterFunc(ctx, func() { plain.Close() })
	conn, err := o.Connect()
	switch interrupted := !stop(); {
	case err != nil:
		plain.Close()
		return nil, err
	case interrupted:
		conn.Close()
		return nil, ctx.Err()
	}
	return conn, nil
}

// Send implements Sender.
func (n *NATS) Send(ctx context.Context, e *ledger.Effect) Outcome {
	defer n.begin()()
	return n.send(ctx, e, n.publish)
}

func (n *NATS) publish(ctx context.Context, m message) Outcome {
	if err := checkSubject(m.address); err != nil {
		return refused(err.Error())
	}
	conn, err := n.get(ctx)
	if err != nil {
		return n.notConnected(ctx, err)
	}
	m.header.Set(nats.MsgIdHdr, m.key)
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	call := &natsCall{subject: m.address, cancel: cancel}
	n.calls.Store(call, nil)
	defer n.calls.Delete(call)

	reply, err := conn.RequestMsgWithContext(waiting, &nats.Msg{Subject: m.address, Header: nats.Header(m.header), Data: m.body})
	switch {
	case err == nil:
		return n.acknowledged(reply.Data)
	case errors.Is(err, nats.ErrMaxPayload):
		return refused(fmt.Sprintf("the message is larger than the %d bytes that the server accepts", conn.MaxPayload()))
	case errors.Is(err, nats.ErrNoResponders):
		return Outcome{Verdict: ledger.VerdictTurnedAway, Err: errors.New("no stream stores the messages of the subject")}
	case errors.Is(context.Cause(waiting), nats.ErrPermissionViolation):
		return Outcome{Verdict: ledger.VerdictTurnedAway, Err: errors.New("the server does not permit the user to publish to the subject")}
	case errors.Is(err, nats.ErrHeadersNotSupported):
		return Outcome{Verdict: ledger.VerdictNotApplied, Err: errors.New("the server supports no headers; NATS 2.2 or later is needed")}
	}
	return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: n.noAck(ctx, err)}
}

// denied cancels the waiting attempts if the server reports in err that the user may not publish to
// their subject. The server sends no other reply to their messages.
func (n *NATS) denied(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	n.calls.Range(func(key, _ any) bool {
		if call, ok := key.(*natsCall); ok && strings.Contains(err.Error(), `Publish to "`+call.subject+`"`) {
			call.cancel(err)
		}
		return true
	})
}

// natsTooLarge are JetStream's error codes for a message or headers that are too large. Another
// attempt would fail in the same way.
var natsTooLarge = []int{10054, 10097}

// acknowledged returns the outcome that a stream's reply reports.
func (n *NATS) acknowledged(reply []byte) Outcome {
	var ack struct {
		Stream    string `json:"stream"`
		Sequence  uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
		Error     *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	err := json.Unmarshal(reply, &ack)
	switch {
	case err != nil || ack.Stream == "" && ack.Error == nil:
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: errors.New("a consumer outside JetStream replied; the subject has no stream, or a consumer that replies too")}
	case ack.Error != nil:
		out := Outcome{
			Verdict: ledger.VerdictNotApplied, Err: fmt.Errorf("JetStream error %d", ack.Error.Code),
			Excerpt: n.redactor.excerpt([]byte(ack.Error.Description), false),
		}
		if slices.Contains(natsTooLarge, ack.Error.Code) {
			out.Verdict = ledger.VerdictRefused
		}
		return out
	}
	excerpt := fmt.Sprintf("stream %s, sequence %d", ack.Stream, ack.Sequence)
	if ack.Duplicate {
		excerpt += ", a duplicate"
	}
	return Outcome{Verdict: ledger.VerdictDone, Excerpt: n.redactor.excerpt([]byte(excerpt), false)}
}
