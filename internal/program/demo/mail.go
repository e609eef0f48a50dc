package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/mail"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

const (
	mailTimeout = 30 * time.Second
	maxMail     = 8 << 20
)

// MailOptions configure a Mail.
type MailOptions struct {
	// Listener is served until Stop. Required.
	Listener net.Listener
	// Print is called with a line for each email. If nil, nothing is printed.
	Print func(line string)
	// Logger logs client errors. Defaults to a logger that discards everything.
	Logger *slog.Logger
}

// SeenMail is a received email.
type SeenMail struct {
	MessageID string    `json:"message_id"`
	Times     int       `json:"times"` // number of times received; a mail program shows emails with the same id once
	To        []string  `json:"to"`
	Subject   string    `json:"subject"`
	FirstAt   time.Time `json:"first_at"`
}

// Mail is an SMTP server that accepts every email and delivers none.
type Mail struct {
	opts    MailOptions
	server  *smtp.Server
	serving sync.WaitGroup
	seen    *once[SeenMail] // by message id
}

// NewMail returns a Mail that does not serve yet.
func NewMail(opts MailOptions) *Mail {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Print == nil {
		opts.Print = func(string) {}
	}
	m := &Mail{opts: opts, seen: newOnce(func(s *SeenMail) { s.Times++ })}
	m.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailSession{mail: m}, nil }))
	m.server.Domain = "localhost"
	m.server.ReadTimeout, m.server.WriteTimeout = mailTimeout, mailTimeout
	m.server.MaxMessageBytes = maxMail
	m.server.ErrorLog = slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug)
	return m
}

// Start serves until Stop.
func (m *Mail) Start() {
	m.serving.Go(func() { _ = m.server.Serve(m.opts.Listener) }) // Serve returns when the listener is closed
}

// Stop closes the listener and waits for emails in flight. If ctx is done first, it closes their
// connections and returns an error.
func (m *Mail) Stop(ctx context.Context) error {
	err := m.server.Shutdown(ctx)
	// Shutdown does not close the listener if Serve has only just begun. Without this Close, Serve
	// would then never return.
	_ = m.opts.Listener.Close()
	if err != nil {
		_ = m.server.Close()
	}
	m.serving.Wait()
	return err
}

// Seen returns the emails in the order of first arrival.
func (m *Mail) Seen() []SeenMail { return m.seen.all() }

// mailSession is one connection.
type mailSession struct {
	mail *Mail
	to   []string
}

// Mail implements smtp.Session.
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements smtp.Session.
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

// Data implements smtp.Session.
func (s *mailSession) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return fmt.Errorf("read mail: %w", err)
	}
	if _, err := io.Copy(io.Discard, message.Body); err != nil {
		return fmt.Errorf("read mail: %w", err)
	}
	subject := message.Header.Get("Subject")
	if decoded, err := new(mime.WordDecoder).DecodeHeader(subject); err == nil {
		subject = decoded
	}
	id := message.Header.Get("Message-Id")
	seen := s.mail.seen.note(id, SeenMail{MessageID: id, To: s.to, Subject: subject, FirstAt: time.Now().UTC()})
	again := ""
	if seen.Times > 1 {
		again = fmt.Sprintf(", copy %d with this id", seen.Times)
	}
	s.mail.opts.Print(fmt.Sprintf("mail      to %s: %q, %s%s", strings.Join(seen.To, ", "), seen.Subject, seen.MessageID, again))
	return nil
}

// Reset implements smtp.Session.
func (s *mailSession) Reset() { s.to = nil }

// Logout implements smtp.Session.
func (s *mailSession) Logout() error { return nil }
