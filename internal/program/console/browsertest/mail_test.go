package browsertest

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// refusal is the mail server's response for a recipient that it refuses.
const refusal = "no mailbox of this name here"

// mailServer is an SMTP server that refuses all recipients until accepts is true.
type mailServer struct {
	addr    *net.TCPAddr
	accepts atomic.Bool
	taken   atomic.Int64 // number of accepted emails
}

func startMail(t *testing.T) *mailServer {
	t.Helper()
	listener := loopbackListener(t)
	m := &mailServer{addr: listener.Addr().(*net.TCPAddr)}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return mailSession{m}, nil }))
	server.Domain = "localhost"
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with the listener
	t.Cleanup(func() {
		require.NoError(t, server.Shutdown(context.Background()))
		_ = listener.Close()
		serving.Wait()
	})
	return m
}

// mailSession is one connection.
type mailSession struct{ server *mailServer }

func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s mailSession) Rcpt(string, *smtp.RcptOptions) error {
	if s.server.accepts.Load() {
		return nil
	}
	return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: refusal}
}

func (s mailSession) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	s.server.taken.Add(1)
	return err
}

func (mailSession) Reset()        {}
func (mailSession) Logout() error { return nil }
