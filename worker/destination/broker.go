package destination

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// broker is the part that the destinations on message brokers share. An effect is done when the
// broker has acknowledged its message. The URL of the effect's request is the address within the
// broker, such as a subject.
type broker struct {
	kind           string
	name           string
	address        string   // address of messages that set none
	servers        []string // host:port
	shownServers   string
	guards         map[string]*egress.Guard // by server
	tls            *tls.Config              // nil without encryption
	timeout        time.Duration
	propagateTrace bool
	ownHeaders     string // prefix of the headers that control the broker; empty for none
	redactor       *redactor
	tracer         trace.Tracer
}

// newBroker returns the part of a destination that all brokers share. It fails if a server or a
// prefix in AllowPrivate is not valid. address is the default of ledger.Request.URL.
func newBroker(kind, address string, o BrokerOptions, secrets ...string) (broker, error) {
	b := broker{
		kind: kind, name: o.Name, address: address, servers: o.Servers, shownServers: strings.Join(o.Servers, ", "),
		guards: map[string]*egress.Guard{}, timeout: o.Timeout, propagateTrace: o.PropagateTrace,
		redactor: newRedactor(append(secrets, o.Password.Reveal())...), tracer: newTracer(o.TracerProvider),
	}
	if o.TLS {
		b.tls = &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	}
	for _, server := range b.servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return b, fmt.Errorf("server: %w", err)
		}
		b.guards[server], err = egress.New(egress.Options{Host: host, Port: port, AllowPrivate: o.AllowPrivate, Resolver: o.Resolver})
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// String returns a text without the destination's secrets.
func (b *broker) String() string { return b.kind + " destination " + b.name }

// GoString returns the same text for %#v.
func (b *broker) GoString() string { return b.String() }

// Kind implements Sender.
func (b *broker) Kind() string { return b.kind }

// Timeout implements TimeLimited.
func (b *broker) Timeout() time.Duration { return b.timeout }

// FirstRequest implements Sender. It returns the address within the broker.
func (b *broker) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{URL: b.address} }

// CheckHeader implements HeaderChecker.
func (b *broker) CheckHeader(name, value string) error {
	if canonical := http.CanonicalHeaderKey(name); b.ownHeaders != "" && strings.HasPrefix(canonical, b.ownHeaders) {
		return setByDestination(canonical)
	}
	return CheckHeader(name, value)
}

// dial connects to a server, without encryption.
func (b *broker) dial(ctx context.Context, server string) (net.Conn, error) {
	return b.guards[server].DialContext(ctx, "tcp", server)
}

// dialTLS connects to a server, with encryption if the destination uses TLS.
func (b *broker) dialTLS(ctx context.Context, server string) (net.Conn, error) {
	conn, err := b.dial(ctx, server)
	if err != nil || b.tls == nil {
		return conn, err
	}
	config := b.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(server) // checked by newBroker
	encrypted := tls.Client(conn, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return encrypted, nil
}

// firstServer returns the connection to the first server for which the function open succeeds. The
// servers share the remaining time, so that a server that hangs does not hide the others. The
// error of a server that the guard refuses is returned only if the guard refuses all servers.
func firstServer[C any](ctx context.Context, b *broker, open func(ctx context.Context, server string) (C, error)) (C, error) {
	var none C
	var failed error
	for i, server := range b.servers {
		within, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok {
			within, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(b.servers)-i))
		}
		conn, err := open(within, server)
		cancel()
		if err == nil {
			return conn, nil
		}
		if _, blocked := errors.AsType[*egress.BlockedError](err); failed == nil || !blocked {
			failed = err
		}
	}
	return none, failed
}

// send makes one attempt. It calls publish to publish the message, unless a header of the request
// is not allowed.
func (b *broker) send(ctx context.Context, e *ledger.Effect, publish func(context.Context, message) Outcome) Outcome {
	ctx, span := b.tracer.Start(ctx, "publish "+b.name, trace.WithSpanKind(trace.SpanKindProducer), spanOf(b.name, e),
		trace.WithAttributes(semconv.MessagingSystemKey.String(b.kind)))
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	var out Outcome
	r := e.Request.CompletedBy(b.FirstRequest(e))
	if header, err := requestHeader(r, b.CheckHeader); err != nil {
		out = refused(err.Error())
	} else {
		describe(header, e)
		if b.propagateTrace {
			propagate(ctx, e.Traceparent, header)
		}
		out = publish(ctx, message{address: r.URL, key: wireKeyOf(e), header: header, body: r.Body, createdAt: e.CreatedAt})
	}
	if failpoint.Enabled && out.Verdict == ledger.VerdictDone {
		if err := failpoint.Hit(placeRequestSent); err != nil { // simulate a lost acknowledgement
			out = Outcome{Verdict: ledger.VerdictMaybeApplied, Err: b.noAck(ctx, err)}
		}
	}
	recordOutcome(span, "", out)
	return out
}

// message is one message for a broker.
type message struct {
	address   string
	key       string
	header    http.Header
	body      []byte
	createdAt time.Time
}

// notConnected returns the outcome of an attempt that could not connect or log in.
func (b *broker) notConnected(ctx context.Context, err error) Outcome {
	out := notConnected(ctx, b.shownServers, b.timeout, err)
	out.Err = errors.New(oneLine(b.redactor.replacer.Replace(out.Err.Error())))
	return out
}

// noAck returns the error of an attempt whose message was sent, and may have been stored.
func (b *broker) noAck(ctx context.Context, err error) error {
	if text := contextError(ctx, "no acknowledgement from "+b.shownServers, b.timeout, err); text != "" {
		return errors.New(oneLine(text))
	}
	return errors.New(oneLine(b.shownServers + " closed the connection before its acknowledgement"))
}
