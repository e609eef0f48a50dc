package destination

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/egress"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// How the connection to an SMTP server is protected.
const (
	TLSStartTLS = "starttls" // begins in the clear, and goes on encrypted or not at all (RFC 3207)
	TLSImplicit = "implicit" // encrypted from the first byte (RFC 8314)
	TLSNone     = "none"     // in the clear
)

// DefaultEmailTimeout is the Timeout of EmailOptions.
const DefaultEmailTimeout = 30 * time.Second

// headerFrom keeps the sender with the request, so that a changed
// configuration does not change a message that was sent before (I7).
const headerFrom = "From"

// EmailOptions say which SMTP server takes effects of kind "email".
type EmailOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string
	// Host is the SMTP server's name or address. Required.
	Host string
	// Port defaults to 587 for starttls, 465 for implicit and 25 for none.
	Port int
	// From is the sender, "a@example.com" or "Ann <a@example.com>". Required.
	From string
	// Username and Password log in when Username is not empty, with the first
	// of SCRAM-SHA-256, PLAIN, LOGIN and CRAM-MD5 that the server offers.
	Username string
	Password secret.Value
	// TLS is TLSStartTLS (the default), TLSImplicit or TLSNone.
	TLS string
	// AllowPlaintext permits TLSNone to a Host that is not localhost or a
	// loopback address: anybody on the way can read the messages.
	AllowPlaintext bool
	// Timeout bounds one attempt. Default: 30 s.
	Timeout time.Duration
	// HELO is the name the client gives. Default: the name of the machine.
	HELO string
	// AllowPrivate are the prefixes of non-global addresses the destination
	// may reach, besides the literal address or localhost that Host is.
	AllowPrivate []netip.Prefix
	// TracerProvider makes a client span for each attempt; nil: none.
	TracerProvider trace.TracerProvider
	// RootCAs are the authorities the server's certificate is checked against;
	// nil: the system's.
	RootCAs *x509.CertPool
	// Resolver looks up Host; nil: the system's. What it answers is guarded.
	Resolver *net.Resolver
}

func (o EmailOptions) withDefaults() EmailOptions {
	o.TLS = cmp.Or(o.TLS, TLSStartTLS)
	o.Timeout = cmp.Or(o.Timeout, DefaultEmailTimeout)
	if o.Port == 0 {
		switch o.TLS {
		case TLSImplicit:
			o.Port = 465
		case TLSNone:
			o.Port = 25
		default:
			o.Port = 587
		}
	}
	if o.HELO == "" {
		o.HELO = "localhost"
		if name, err := os.Hostname(); err == nil && isHELO(name) {
			o.HELO = name
		}
	}
	return o
}

func (o EmailOptions) validate() error {
	switch {
	case o.Name == "":
		return errors.New("name is empty")
	case o.Host == "":
		return errors.New("host is empty")
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("port must be between 1 and 65535, got %d", o.Port)
	case o.TLS != TLSStartTLS && o.TLS != TLSImplicit && o.TLS != TLSNone:
		return fmt.Errorf("tls must be %s, %s or %s, got %q", TLSStartTLS, TLSImplicit, TLSNone, o.TLS)
	case o.TLS == TLSNone && !o.AllowPlaintext && !isLoopback(o.Host):
		return fmt.Errorf("tls %s is allowed only for localhost, unless plaintext is allowed; host is %q", TLSNone, o.Host)
	case o.Timeout < 0:
		return fmt.Errorf("timeout must be more than 0, got %s", o.Timeout)
	case !isHELO(o.HELO):
		return fmt.Errorf("helo %q is not a host name", o.HELO)
	case o.Username == "" && !o.Password.IsZero():
		return errors.New("password is given without a username")
	}
	return nil
}

// Email sends effects of kind "email" over SMTP (RFC 5321). The body of the
// request is a Message. Each attempt has a connection of its own.
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
	o = o.withDefaults()
	if err := o.validate(); err != nil {
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
		timeout: o.Timeout, helo: o.HELO, guard: guard,
		redactor: newRedactor(password, base64.StdEncoding.EncodeToString([]byte("\x00"+o.Username+"\x00"+password))),
		tracer:   newTracer(o.TracerProvider),
	}, nil
}

// String keeps the secrets out of what prints the destination.
func (m *Email) String() string { return "email destination " + m.name }

// GoString does the same for %#v.
func (m *Email) GoString() string { return m.String() }

// Kind implements Sender.
func (m *Email) Kind() string { return "email" }

// Timeout is the longest an attempt takes.
func (m *Email) Timeout() time.Duration { return m.timeout }

// FirstRequest implements Sender: the sender's address. It is the same for
// every effect, so that e may be nil.
func (m *Email) FirstRequest(*outbox.Effect) outbox.Request {
	return outbox.Request{Headers: map[string][]string{headerFrom: {m.from.String()}}}
}

// Send implements Sender.
func (m *Email) Send(ctx context.Context, e *outbox.Effect) Outcome {
	ctx, span := m.tracer.Start(ctx, "SMTP "+m.name, trace.WithSpanKind(trace.SpanKindClient), spanOf(m.name, e))
	defer span.End()
	span.SetAttributes(serverOf(m.host, m.port)...)
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	out := m.attempt(ctx, e)
	recordOutcome(span, "hooklatch.smtp.response.status_code", out)
	return out
}

func (m *Email) attempt(ctx context.Context, e *outbox.Effect) Outcome {
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
		if from, err = parseAddress(kept[0]); err != nil {
			return refused("the sender kept with the request " + err.Error())
		}
	}
	content, err := renderEmail(message, from, e.IdempotencyKey, e.CreatedAt)
	if err != nil {
		return refused(err.Error())
	}
	return m.transmit(ctx, from, to, content)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return egress.CanonicalHost(host) == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isHELO tells whether a name can be an argument of EHLO.
func isHELO(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}
