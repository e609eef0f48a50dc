package receivers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"os"
	"slices"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// mailbox accepts the messages of the SMTP destination. At most one such destination exists,
// because a message does not name its destination.
type mailbox struct{ *Receivers }

// NewSession implements smtp.Backend.
func (m mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return mailSession{m.Receivers, c.Conn()}, nil
}

type mailSession struct {
	*Receivers

	conn net.Conn
}

func (mailSession) Reset()                               {}
func (mailSession) Logout() error                        { return nil }
func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

// Data handles a message once its final dot has arrived.
func (s mailSession) Data(content io.Reader) error {
	message, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	var key, text string
	if parsed, err := mail.ReadMessage(bytes.NewReader(message)); err != nil {
		text = fmt.Sprintf("not a message: %s", err)
	} else {
		key = parsed.Header.Get("Hooklatch-Idempotency-Key")
	}
	destination := s.mailDestination()
	behaviour, known := s.behaviour.next(destination)
	c := s.desk.arrived(destination, key, behaviour, message, text)
	switch {
	case c == nil:
		return s.cut()
	case !known || key == "":
		return refuse(c, 554)
	}
	return s.behave(c, behaviour)
}

func (r *Receivers) mailDestination() string {
	i := slices.IndexFunc(r.opts.Destinations, func(d scenario.Destination) bool { return d.Kind == "email" })
	if i < 0 {
		return "mail"
	}
	return r.opts.Destinations[i].Name
}

// behave handles a call with the closest SMTP equivalent of an HTTP behaviour.
func (s mailSession) behave(c *call, b Behaviour) error {
	does := b.act()
	if does.applies || b == Hang && s.Receivers.behaviour.coin() {
		c.apply()
	}
	text := "cut"
	switch b {
	case Slow:
		if !s.waitFor(s.opts.Slow) {
			c.end(history.Unknown, 0, "the caller did not wait for the answer")
			return s.cut()
		}
	case Hang:
		s.waitFor(patience)
		text = does.text
	}
	switch {
	case does.mail == 0:
		c.end(history.Unknown, 0, text)
		return s.cut()
	case does.mail < 400:
		c.end(history.OK, does.mail, "")
		return nil
	}
	return refuse(c, does.mail)
}

func refuse(c *call, code int) error {
	c.end(history.Fail, code, "")
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: "as told"}
}

var errCut = errors.New("the connection was cut")

// cut resets the connection, so that the error of Data does not reach the client.
func (s mailSession) cut() error {
	reset(s.conn)
	return errCut
}

// waitFor returns true after d. It returns false earlier if the client hangs up, or if the
// receivers stop, which closes the connection. The client sends nothing meanwhile.
func (s mailSession) waitFor(d time.Duration) bool {
	if s.conn.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	_, err := s.conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded) && s.conn.SetReadDeadline(time.Time{}) == nil
}
