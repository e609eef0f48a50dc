package destination

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// headerFrom is the header that stores the From address with the request, so that a changed
// configuration does not change the message of a later attempt (I7).
const headerFrom = "From"

// Email sends effects of kind "email" over SMTP (RFC 5321). The body of the request is a
// Message. Each attempt uses a new connection.
type Email struct {
	name     string
	host     string
	port     string
	from     *mail.Address
	username string
	password secret.Value
	tlsMode  string
	tls      *tls.Config
	timeout  time.Duration
	helo     string
	guard    *egress.Guard
	redactor *redactor
	tracer   trace.Tracer
}

// NewEmail checks the options. It does not connect.
func NewEmail(o EmailOptions) (*Email, error) {
	o = o.WithDefaults()
	if o.Name == "" {
		return nil, errors.New("email destination: Name is required")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("email destination %q: %w", o.Name, err)
	}
	from, err := parseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("email destination %q: from %q %w", o.Name, o.From, err)
	}
	port := strconv.Itoa(o.Port)
	guard, err := egress.New(egress.Options{Host: o.Host, Port: port, AllowPrivate: o.AllowPrivate, Resolver: o.Resolver})
	if err != nil {
		return nil, fmt.Errorf("email destination %q: %w", o.Name, err)
	}
	password := o.Password.Reveal()
	return &Email{
		name: o.Name, host: o.Host, port: port, from: from,
		username: o.Username, password: o.Password,
		tlsMode: o.TLS, tls: &tls.Config{ServerName: o.Host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		timeout: o.Timeout, helo: cmp.Or(o.HELO, ownHELO()), guard: guard,
		redactor: newRedactor(password, base64.StdEncoding.EncodeToString([]byte("\x00"+o.Username+"\x00"+password))),
		tracer:   newTracer(o.TracerProvider),
	}, nil
}

// String returns a text without the destination's secrets.
func (m *Email) String() string { return "email destination " + m.name }

// GoString returns the same text for %#v.
func (m *Email) GoString() string { return m.String() }

// Kind implements Sender.
func (m *Email) Kind() string { return KindEmail }

// Timeout implements TimeLimited.
func (m *Email) Timeout() time.Duration { return m.timeout }

// FirstRequest implements Sender. It returns the From address, which is the same for every effect,
// so the effect can be nil.
func (m *Email) FirstRequest(*ledger.Effect) ledger.Request {
	return ledger.Request{Headers: map[string][]string{headerFrom: {m.from.String()}}}
}

// Send implements Sender.
func (m *Email) Send(ctx context.Context, e *ledger.Effect) Outcome {
	ctx, span := m.tracer.Start(ctx, "SMTP "+m.name, trace.WithSpanKind(trace.SpanKindClient), spanOf(m.name, e))
	defer span.End()
	span.SetAttributes(serverOf(m.host, m.port)...)
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	out := m.attempt(ctx, e)
	recordOutcome(span, "hooklatch.smtp.response.status_code", out)
	return out
}

func (m *Email) attempt(ctx context.Context, e *ledger.Effect) Outcome {
	message, err := DecodeMessage(e.Request.Body)
	if err != nil {
		return refused(err.Error())
	}
	to, err := message.recipients()
	if err != nil {
		return refused(err.Error())
	}
	from := m.from
	if kept := e.Request.Headers[headerFrom]; len(kept) > 0 {
		if from, err = parseEncodedAddress(kept[0]); err != nil {
			return refused("the sender kept with the request " + err.Error())
		}
	}
	content, err := renderEmail(message, from, e.IdempotencyKey, e.CreatedAt)
	if err != nil {
		return refused(err.Error())
	}
	return m.transmit(ctx, from, to, content)
}
