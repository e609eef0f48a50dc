package destination

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wneessen/go-mail/smtp"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// maxReplies is the maximum number of bytes that one session reads, including the TLS
	// handshake: a server that sends an endless line must not fill the memory.
	maxReplies = 256 << 10
	// quitTimeout is the maximum time for the orderly end of a session or connection.
	quitTimeout = time.Second
)

// stage is the last step that an SMTP session reached. It determines a failure's meaning.
type stage string

const (
	// Stages before the message: connection and login. An operator can repair a failure, even if
	// the server replies 5xx.
	stageGreeting stage = "greeting"
	stageHello    stage = "EHLO"
	stageStartTLS stage = "STARTTLS"
	stageAuth     stage = "AUTH"
	// Stages of the message: a 5xx is final.
	stageFrom stage = "MAIL FROM"
	stageTo   stage = "RCPT TO"
	stageData stage = "DATA"
	// stageContent lasts until the final dot is sent. Before the dot, the server must not deliver
	// the message (RFC 5321, section 4.1.1.4).
	stageContent stage = "message content"
	// stageEnd follows the final dot: the message may have been delivered.
	stageEnd stage = "end of message"
)

// verdict returns a failure's meaning for the effect. code is the code of the server's reply, or 0
// without a reply.
func (s stage) verdict(code int) ledger.Verdict {
	switch s {
	case stageFrom, stageTo, stageData, stageEnd:
	case stageGreeting, stageHello, stageStartTLS, stageAuth, stageContent:
		return ledger.VerdictNotApplied
	}
	switch {
	case code == 530 || code == 534 || code == 535 || code == 538:
		return ledger.VerdictNotApplied // the reply is about the login (RFC 4954, section 6)
	case code >= 500 && code <= 599:
		return ledger.VerdictRefused
	case code >= 400 && code <= 499:
		return ledger.VerdictNotApplied
	case s == stageEnd:
		return ledger.VerdictMaybeApplied
	}
	return ledger.VerdictNotApplied
}

// transmit hands the message to the server, in one session.
func (m *Email) transmit(ctx context.Context, from *mail.Address, to []*mail.Address, content []byte) Outcome {
	address := net.JoinHostPort(m.host, m.port)
	plain, err := m.guard.DialContext(ctx, "tcp", address)
	if err != nil {
		return notConnected(ctx, address, m.timeout, err)
	}
	defer plain.Close()
	// The SMTP client does not support contexts. When ctx is done, closing the connection ends the
	// session.
	defer context.AfterFunc(ctx, func() { plain.Close() })()
	bounded := &boundedConn{Conn: plain, left: maxReplies}
	var conn net.Conn = bounded
	if m.tlsMode == TLSImplicit {
		encrypted := tls.Client(conn, m.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return notConnected(ctx, address, m.timeout, err)
		}
		conn = encrypted
	}

	client, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return m.failed(ctx, stageGreeting, err)
	}
	if at, err := m.open(client); err != nil {
		return m.failed(ctx, at, err)
	}
	if at, err := envelop(client, from, to); err != nil {
		out := m.failed(ctx, at, err)
		if out.Status != 0 {
			quit(client, plain)
		}
		return out
	}
	writer, err := client.Data()
	if err != nil {
		return m.failed(ctx, stageData, err)
	}
	if _, err := writer.Write(content); err != nil {
		// QUIT is not sent: the client would first end the message with a dot.
		return m.failed(ctx, stageContent, err)
	}
	bounded.passSent = failpoint.Enabled
	if err := writer.Close(); err != nil {
		return m.failed(ctx, stageEnd, err)
	}
	out := Outcome{Verdict: ledger.VerdictDone, Status: 250}
	if data, ok := writer.(*smtp.DataCloser); ok {
		out.Excerpt = m.redactor.excerpt([]byte(data.ServerResponse()), false)
	}
	quit(client, plain)
	return out
}

// open sends EHLO, starts encryption and logs in. If a step fails, open returns its stage and the
// error.
func (m *Email) open(client *smtp.Client) (stage, error) {
	if err := client.Hello(m.helo); err != nil {
		return stageHello, err
	}
	if m.tlsMode == TLSStartTLS {
		if ok, _ := client.Extension("STARTTLS"); !ok {
			return stageStartTLS, errNoStartTLS
		}
		if err := client.StartTLS(m.tls.Clone()); err != nil {
			return stageStartTLS, err
		}
	}
	if m.username == "" {
		return "", nil
	}
	auth, err := m.auth(client)
	if err != nil {
		return stageAuth, err
	}
	return stageAuth, client.Auth(auth)
}

var (
	errNoStartTLS = errors.New("the server does not offer STARTTLS")
	errNoUTF8     = errors.New("the server does not offer SMTPUTF8, which is needed for the part of an address before the @")
	errNoAuth     = errors.New("the server offers none of SCRAM-SHA-256, PLAIN, LOGIN and CRAM-MD5")
)

func (m *Email) auth(client *smtp.Client) (smtp.Auth, error) {
	_, offered := client.Extension("AUTH")
	mechanisms := strings.Fields(strings.ToUpper(offered))
	password := m.password.Reveal()
	inClear := m.tlsMode == TLSNone // with a username, Validate allows this only for a loopback host
	switch {
	case slices.Contains(mechanisms, "SCRAM-SHA-256"):
		return smtp.ScramSHA256Auth(m.username, password), nil
	case slices.Contains(mechanisms, "PLAIN"):
		return smtp.PlainAuth("", m.username, password, m.host, inClear), nil
	case slices.Contains(mechanisms, "LOGIN"):
		return smtp.LoginAuth(m.username, password, m.host, inClear), nil
	case slices.Contains(mechanisms, "CRAM-MD5"):
		return smtp.CRAMMD5Auth(m.username, password), nil
	}
	return nil, errNoAuth
}

// envelop sends the sender's address and the recipients' addresses to the server. One refused
// recipient fails the whole message: an effect is applied completely or not at all.
func envelop(client *smtp.Client, from *mail.Address, to []*mail.Address) (stage, error) {
	international := !isASCII(from.Address) || slices.ContainsFunc(to, func(a *mail.Address) bool { return !isASCII(a.Address) })
	client.SkipSMTPUTF8(!international)
	if offered, _ := client.Extension("SMTPUTF8"); international && !offered {
		return stageFrom, errNoUTF8 // RFC 6531, section 3.2: the address must not be sent unchanged
	}
	if err := client.Mail(envelope(from)); err != nil {
		return stageFrom, err
	}
	var worst error
	for _, recipient := range to {
		err := client.Rcpt(envelope(recipient))
		if err == nil {
			continue
		}
		reply, ok := errors.AsType[*textproto.Error](err)
		if !ok {
			return stageTo, err
		}
		// One permanently refused recipient decides the outcome, regardless of the other replies.
		if kept, ok := errors.AsType[*textproto.Error](worst); !ok || reply.Code > kept.Code {
			worst = err
		}
	}
	return stageTo, worst
}

// failed returns the outcome of a session that failed at a stage.
func (m *Email) failed(ctx context.Context, at stage, err error) Outcome {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return Outcome{
			Verdict: at.verdict(reply.Code),
			Status:  reply.Code,
			Excerpt: m.redactor.excerpt([]byte(reply.Msg), false),
			Err:     fmt.Errorf("SMTP %d at %s", reply.Code, at),
		}
	}
	address := net.JoinHostPort(m.host, m.port)
	var why error
	switch {
	case errors.Is(err, errNoUTF8):
		return refused(err.Error())
	case errors.Is(err, errNoStartTLS) || errors.Is(err, errNoAuth):
		why = err
	case at == stageStartTLS && isTLSError(err):
		return notConnected(ctx, address, m.timeout, err)
	default:
		why = fmt.Errorf("%w (%s)", noAnswer(ctx, address, m.timeout, err), at)
	}
	return Outcome{Verdict: at.verdict(0), Err: why}
}

// quit ends a session whose outcome is known, and ignores errors.
func quit(client *smtp.Client, conn net.Conn) {
	if conn.SetDeadline(time.Now().Add(quitTimeout)) == nil {
		_ = client.Quit()
	}
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// boundedConn is a connection from which no more than left further bytes can be read.
type boundedConn struct {
	net.Conn

	left     int
	passSent bool // if true, the next read hits placeRequestSent
}

var errTooMuch = errors.New("the server sent too much data")

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooMuch
	}
	if failpoint.Enabled && c.passSent {
		c.passSent = false
		if err := failpoint.Hit(placeRequestSent); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
