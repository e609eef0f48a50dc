package destination

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// smtpServer is a real SMTP server whose replies a test controls.
type smtpServer struct {
	onRcpt   func(to string) error
	onData   func(c *smtp.Conn) error
	password string // if not empty, a login is required

	mu       sync.Mutex
	messages []string
	from     string
	to       []string
}

func (s *smtpServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &smtpSession{server: s, conn: c, open: s.password == ""}, nil
}

type smtpSession struct {
	server *smtpServer
	conn   *smtp.Conn
	open   bool
}

func (s *smtpSession) Reset()        {}
func (s *smtpSession) Logout() error { return nil }

func (s *smtpSession) AuthMechanisms() []string {
	if s.server.password == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *smtpSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "hook" || password != s.server.password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no such password: " + password}
		}
		s.open = true
		return nil
	}), nil
}

func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	if !s.open {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "log in first"}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.from, s.server.to = from, nil
	return nil
}

func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.onRcpt != nil {
		if err := s.server.onRcpt(to); err != nil {
			return err
		}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.to = append(s.server.to, to)
	return nil
}

func (s *smtpSession) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	s.server.messages = append(s.server.messages, string(content))
	s.server.mu.Unlock()
	if s.server.onData != nil {
		return s.server.onData(s.conn)
	}
	return nil
}

// start starts the server and returns its port. With a certificate, the server offers STARTTLS, or
// encrypts from the first byte if implicit is true.
func (s *smtpServer) start(t *testing.T, certificate *tls.Certificate, implicit bool) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	server := smtp.NewServer(s)
	server.Domain, server.ErrorLog = "mx.example.com", slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.AllowInsecureAuth = certificate == nil
	if certificate != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		if implicit {
			listener = tls.NewListener(listener, server.TLSConfig)
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	return port
}

// testCertificate returns a certificate for 127.0.0.1, and a pool that contains it.
func testCertificate(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return &server.TLS.Certificates[0], trusted
}

func newTestEmail(t *testing.T, port int, change func(*EmailOptions)) *Email {
	t.Helper()
	o := EmailOptions{
		Name: "mail", Host: "127.0.0.1", Port: port, From: "Hook <hook@example.com>", TLS: TLSNone,
		HELO: "client.example.com", Timeout: time.Minute,
	}
	if change != nil {
		change(&o)
	}
	m, err := NewEmail(o)
	require.NoError(t, err)
	return m
}

func emailEffect(t *testing.T) *ledger.Effect {
	t.Helper()
	e := testEffect()
	body, err := testMessage().Encode()
	require.NoError(t, err)
	e.Request = ledger.Request{ContentType: EmailContentType, Body: body}
	return e
}

func TestEmailIsTheSameOnEveryAttempt(t *testing.T) {
	t.Parallel()
	var server smtpServer
	port := server.start(t, nil, false)
	e := emailEffect(t)
	before := newTestEmail(t, port, nil)
	e.Request.Headers = before.FirstRequest(e).Headers
	// The configured From address changes between two attempts.
	after := newTestEmail(t, port, func(o *EmailOptions) { o.From = "new@example.net" })
	for i, m := range []*Email{before, after} {
		e.Attempt = i + 1
		out := m.Send(t.Context(), e)
		require.Equal(t, ledger.VerdictDone, out.Verdict, "%v", out.Err)
		require.Equal(t, 250, out.Status)
		require.NotEmpty(t, out.Excerpt)
	}
	require.Len(t, server.messages, 2)
	require.Equal(t, server.messages[0], server.messages[1])
	require.Contains(t, server.messages[0], "Message-ID: <"+e.IdempotencyKey+"@example.com>\r\n")
	require.Contains(t, server.messages[0], "Date: Wed, 30 Sep 2026 10:00:00 +0000\r\n")
	require.Equal(t, testMessage(), readEmail(t, []byte(server.messages[0])))
	require.Equal(t, "hook@example.com", server.from)
	require.Equal(t, []string{"aenne@example.org", "bob@example.org"}, server.to)
}

func TestEmailEncryption(t *testing.T) {
	t.Parallel()
	certificate, trusted := testCertificate(t)
	for _, mode := range []string{TLSStartTLS, TLSImplicit} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := smtpServer{password: "canary-password"}
			port := server.start(t, certificate, mode == TLSImplicit)
			login := func(o *EmailOptions) {
				o.TLS, o.RootCAs, o.Username, o.Password = mode, trusted, "hook", secret.New("canary-password")
			}
			out := newTestEmail(t, port, login).Send(t.Context(), emailEffect(t))
			require.Equal(t, ledger.VerdictDone, out.Verdict, "%v", out.Err)

			out = newTestEmail(t, port, func(o *EmailOptions) { login(o); o.RootCAs = nil }).Send(t.Context(), emailEffect(t))
			require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
			require.ErrorContains(t, out.Err, "TLS handshake with 127.0.0.1:")
			require.Len(t, server.messages, 1)
		})
	}
	t.Run("not offered", func(t *testing.T) {
		t.Parallel()
		var server smtpServer
		out := newTestEmail(t, server.start(t, nil, false), func(o *EmailOptions) { o.TLS = TLSStartTLS }).Send(t.Context(), emailEffect(t))
		require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
		require.EqualError(t, out.Err, "the server does not offer STARTTLS")
		require.Empty(t, server.messages)
	})
}

func TestEmailLogin(t *testing.T) {
	t.Parallel()
	server := smtpServer{password: "right"}
	port := server.start(t, nil, false)
	send := func(user, password string) Outcome {
		m := newTestEmail(t, port, func(o *EmailOptions) { o.Username, o.Password = user, secret.New(password) })
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", m, m, m), "canary")
		return m.Send(t.Context(), emailEffect(t))
	}
	require.Equal(t, ledger.VerdictDone, send("hook", "right").Verdict)

	out := send("hook", "canary-password")
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict, "an operator can repair the cause")
	require.Equal(t, 535, out.Status)
	require.EqualError(t, out.Err, "SMTP 535 at AUTH")
	require.Equal(t, "5.7.8 no such password: <secret>", out.Excerpt)

	out = send("", "")
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.EqualError(t, out.Err, "SMTP 530 at MAIL FROM")
}

func TestEmailAnswersOfTheServer(t *testing.T) {
	t.Parallel()
	reply := func(code int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "because"}
	}
	for _, c := range []struct {
		name   string
		server *smtpServer
		status int
		want   ledger.Verdict
		err    string
	}{
		{
			name: "a recipient later", server: &smtpServer{onRcpt: func(string) error { return reply(451) }},
			status: 451, want: ledger.VerdictNotApplied, err: "SMTP 451 at RCPT TO",
		},
		{
			name: "a recipient never", server: &smtpServer{onRcpt: func(string) error { return reply(550) }},
			status: 550, want: ledger.VerdictRefused, err: "SMTP 550 at RCPT TO",
		},
		{
			name: "one recipient never, another later", server: &smtpServer{onRcpt: func(to string) error {
				if to == "bob@example.org" {
					return reply(450)
				}
				return reply(553)
			}},
			status: 553, want: ledger.VerdictRefused, err: "SMTP 553 at RCPT TO",
		},
		{
			name: "the message later", server: &smtpServer{onData: func(*smtp.Conn) error { return reply(452) }},
			status: 452, want: ledger.VerdictNotApplied, err: "SMTP 452 at end of message",
		},
		{
			name: "the message never", server: &smtpServer{onData: func(*smtp.Conn) error { return reply(554) }},
			status: 554, want: ledger.VerdictRefused, err: "SMTP 554 at end of message",
		},
		{
			name: "gone after the message", server: &smtpServer{onData: func(c *smtp.Conn) error { return c.Conn().Close() }},
			want: ledger.VerdictMaybeApplied, err: "ADDRESS closed the connection before its answer (end of message)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			port := c.server.start(t, nil, false)
			out := newTestEmail(t, port, nil).Send(t.Context(), emailEffect(t))
			require.Equal(t, c.want, out.Verdict)
			require.Equal(t, c.status, out.Status)
			if c.status != 0 {
				require.Contains(t, out.Excerpt, "because")
			}
			require.EqualError(t, out.Err, replaceAddress(c.err, port))
		})
	}
}

// An address with a non-ASCII domain goes to every server, with A-labels. An address with a
// non-ASCII local part goes only to servers that accept it.
func TestEmailAddressesOfOtherCharacters(t *testing.T) {
	t.Parallel()
	server := &smtpServer{}
	port := server.start(t, nil, false)
	send := func(from, to string) Outcome {
		e := emailEffect(t)
		message := testMessage()
		message.To = []string{to}
		body, err := message.Encode()
		require.NoError(t, err)
		e.Request.Body = body
		return newTestEmail(t, port, func(o *EmailOptions) { o.From = from }).Send(t.Context(), e)
	}
	out := send("Hook <hook@straße.example>", "Bücher <info@BÜCHER.example>")
	require.Equal(t, ledger.VerdictDone, out.Verdict, out.Err)
	require.Equal(t, "hook@xn--strae-oqa.example", server.from)
	require.Equal(t, []string{"info@xn--bcher-kva.example"}, server.to)
	require.Contains(t, server.messages[0], "<info@xn--bcher-kva.example>")
	require.NotContains(t, strings.ToLower(server.messages[0]), "bücher.example")

	// The first claim stores the address with an encoded name, which makes it longer than
	// maxAddress.
	e := emailEffect(t)
	long := newTestEmail(t, port, func(o *EmailOptions) {
		o.From = "Общество с ограниченной ответственностью «Ромашка» <hook@example.com>"
	})
	e.Request = e.Request.CompletedBy(long.FirstRequest(nil))
	require.Greater(t, len(e.Request.Headers[headerFrom][0]), maxAddress)
	out = long.Send(t.Context(), e)
	require.Equal(t, ledger.VerdictDone, out.Verdict, out.Err)
	require.Equal(t, "hook@example.com", server.from)

	out = send("hook@example.com", "jürgen@example.com")
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.EqualError(t, out.Err, "the server does not offer SMTPUTF8, which is needed for the part of an address before the @")
	require.Len(t, server.messages, 2)
}

func TestEmailServerFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		want   ledger.Verdict
		err    string
	}{
		{
			name: "no service", handle: func(c net.Conn) { _, _ = io.WriteString(c, "554 go away\r\n") },
			want: ledger.VerdictNotApplied, err: "SMTP 554 at greeting",
		},
		{
			name: "not SMTP", handle: func(c net.Conn) { _, _ = io.WriteString(c, "canary\r\n") },
			want: ledger.VerdictNotApplied, err: "ADDRESS sent no valid answer (greeting)",
		},
		{
			name: "an endless line", handle: func(c net.Conn) {
				for {
					if _, err := c.Write(make([]byte, 4096)); err != nil {
						return
					}
				}
			},
			want: ledger.VerdictNotApplied, err: "ADDRESS sent no valid answer (greeting)",
		},
		{
			name: "hangs", handle: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
			want: ledger.VerdictNotApplied, err: "no answer from ADDRESS within 15s (greeting)",
		},
		{
			name: "hangs after the message", handle: script("220 hi", "250 hello", "250 ok", "250 ok", "250 ok", "354 go on"),
			want: ledger.VerdictMaybeApplied, err: "no answer from ADDRESS within 15s (end of message)",
		},
		{
			name: "hangs before the message", handle: script("220 hi", "250 hello", "250 ok", "250 ok", "250 ok"),
			want: ledger.VerdictNotApplied, err: "no answer from ADDRESS within 15s (DATA)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, port, err := net.SplitHostPort(listen(t, c.handle))
			require.NoError(t, err)
			n, err := strconv.Atoi(port)
			require.NoError(t, err)
			timeout := time.Minute
			if strings.HasPrefix(c.err, "no answer") {
				timeout = 15 * time.Second // leaves time for the earlier steps on a busy machine
			}
			out := newTestEmail(t, n, func(o *EmailOptions) { o.Timeout = timeout }).Send(t.Context(), emailEffect(t))
			require.Equal(t, c.want, out.Verdict)
			require.EqualError(t, out.Err, replaceAddress(c.err, n))
		})
	}
}

func TestEmailServerIsDownOrForbidden(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(closedAddress(t))
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	out := newTestEmail(t, n, nil).Send(t.Context(), emailEffect(t))
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.EqualError(t, out.Err, "connect to 127.0.0.1:"+port+": connect: connection refused")

	out = newTestEmail(t, n, func(o *EmailOptions) {
		o.Host, o.TLS, o.Resolver = "smtp.example.com", TLSStartTLS, resolveTo(t, loopback)
	}).Send(t.Context(), emailEffect(t))
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.ErrorContains(t, out.Err, "egress guard refused smtp.example.com: 127.0.0.1 is not a global address")
}

func TestEmailRefusesABodyThatIsNoMessage(t *testing.T) {
	t.Parallel()
	e := emailEffect(t)
	e.Request.Body = []byte(`{"id":"evt_1"}`)
	out := newTestEmail(t, 25, nil).Send(t.Context(), e)
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.EqualError(t, out.Err, `decode email: json: unknown field "id"`)
}

func TestNewEmailSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*EmailOptions){
		`email destination: Name is required`:                                      func(o *EmailOptions) { o.Name = "" },
		`email destination "mail": has no host`:                                    func(o *EmailOptions) { o.Host = "" },
		`email destination "mail": port: 70000 is not a port; allowed: 1 to 65535`: func(o *EmailOptions) { o.Port = 70000 },
		`email destination "mail": from: "nobody" is not an email address; allowed: an address like app@example.com or App <app@example.com>`: func(o *EmailOptions) { o.From = "nobody" },
		`email destination "mail": tls: "maybe" is not a TLS mode; allowed: starttls, implicit, none`:                                         func(o *EmailOptions) { o.TLS = "maybe" },
		`email destination "mail": has a password but no username`:                                                                            func(o *EmailOptions) { o.Password = secret.New("x") },
		`email destination "mail": helo: "a b" is not a host name`:                                                                            func(o *EmailOptions) { o.HELO = "a b" },
		`email destination "mail": tls: none is allowed for localhost only, unless AllowPlaintext is set; host is "smtp.example.com"`:         func(o *EmailOptions) { o.TLS = TLSNone },
	} {
		o := EmailOptions{Name: "mail", Host: "smtp.example.com", From: "a@example.com"}
		change(&o)
		_, err := NewEmail(o)
		require.EqualError(t, err, want)
	}
	m, err := NewEmail(EmailOptions{Name: "mail", Host: "smtp.example.com", From: "a@example.com"})
	require.NoError(t, err)
	require.Equal(t, "587 15s", fmt.Sprint(m.port, " ", m.Timeout()))
}
