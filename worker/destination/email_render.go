package destination

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// renderEmail returns the message to send. Equal arguments give equal bytes, so all attempts of an
// effect send the same message (I7): the Message-ID derives from the idempotency key, and the date
// is createdAt.
func renderEmail(m Message, from *mail.Address, idempotencyKey string, createdAt time.Time) ([]byte, error) {
	to, err := m.recipients()
	if err != nil {
		return nil, fmt.Errorf("render email: %w", err)
	}
	// The boundary is a hash of the content, which cannot contain its own hash.
	content := sha256.New()
	for _, part := range []string{idempotencyKey, m.Text, m.HTML} {
		sum := sha256.Sum256([]byte(part))
		content.Write(sum[:])
	}
	msg := gomail.NewMsg(
		gomail.WithNoDefaultUserAgent(),
		gomail.WithCharset(gomail.CharsetUTF8),
		gomail.WithEncoding(gomail.EncodingQP),
		gomail.WithBoundary("hooklatch"+hex.EncodeToString(content.Sum(nil)[:20])),
	)
	msg.SetMessageIDWithValue(idempotencyKey + "@" + domainOf(from))
	msg.SetDateWithValue(createdAt.UTC())
	msg.SetGenHeader("Hooklatch-Idempotency-Key", idempotencyKey)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	msg.FromMailAddress(from)
	msg.ToMailAddress(to...)
	msg.Subject(m.Subject)
	switch {
	case m.HTML == "":
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	case m.Text == "":
		msg.SetBodyString(gomail.TypeTextHTML, m.HTML)
	default:
		// The richest alternative must be last (RFC 2046, section 5.1.4).
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("render email: %w", err)
	}
	return b.Bytes(), nil
}
