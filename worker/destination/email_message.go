package destination

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// EmailContentType is the content type of a request whose body is a Message.
const EmailContentType = "application/vnd.hooklatch.email+json"

// MaxSubject is the maximum length of a subject in bytes. A message line has at most 998 bytes (RFC
// 5322, section 2.1.1).
const MaxSubject = 900

const (
	maxRecipients = 100 // every SMTP server accepts this number (RFC 5321, section 4.5.3.1.8)
	maxAddress    = 320 // bytes
)

// Message is the request body of an effect at an email destination.
type Message struct {
	// To are the recipients, 1 to 100, as "a@example.com" or "Ann <a@example.com>".
	To []string `json:"to"`
	// Subject is one line of at most 900 bytes; it may be empty.
	Subject string `json:"subject"`
	// Text and HTML are two versions of the same content. At least one must not be empty.
	Text string `json:"text,omitempty"`
	HTML string `json:"html,omitempty"`
}

// Encode returns the message as a request body. It fails if the message is not valid.
func (m Message) Encode() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("encode email: %w", err)
	}
	body, err := plainjson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode email: %w", err)
	}
	return body, nil
}

// DecodeMessage reads a message from a request body. It fails if the message is not valid or has
// unknown fields.
func DecodeMessage(body []byte) (Message, error) {
	var m Message
	if err := decodeStrictly(body, &m); err != nil {
		return Message{}, fmt.Errorf("decode email: %w", err)
	}
	if err := m.Validate(); err != nil {
		return Message{}, fmt.Errorf("decode email: %w", err)
	}
	return m, nil
}

// Validate returns an error if the message cannot be sent.
func (m Message) Validate() error {
	if _, err := m.recipients(); err != nil {
		return err
	}
	switch {
	case len(m.Subject) > MaxSubject:
		return fmt.Errorf("subject has %d bytes; at most %d are allowed", len(m.Subject), MaxSubject)
	case strings.ContainsFunc(m.Subject, unicode.IsControl):
		return errors.New("subject has a line break or control character")
	case m.Text == "" && m.HTML == "":
		return errors.New("text and html are both empty")
	case !utf8.ValidString(m.Subject) || !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML):
		return errors.New("subject, text or html is not valid UTF-8")
	}
	return nil
}

func (m Message) recipients() ([]*mail.Address, error) {
	if len(m.To) == 0 || len(m.To) > maxRecipients {
		return nil, fmt.Errorf("to must have 1 to %d addresses, got %d", maxRecipients, len(m.To))
	}
	addresses := make([]*mail.Address, 0, len(m.To))
	for i, to := range m.To {
		address, err := parseAddress(to)
		if err != nil {
			return nil, fmt.Errorf("to, address %d: %w", i+1, err)
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// parseAddress parses one mailbox (RFC 5322). A domain with non-ASCII characters is replaced by its
// A-labels (RFC 5891), which every server accepts. The errors do not quote the address, which is
// personal data.
func parseAddress(s string) (*mail.Address, error) {
	if len(s) > maxAddress || !isText(s) {
		return nil, fmt.Errorf("is longer than %d bytes or has characters an address cannot have", maxAddress)
	}
	return parseEncodedAddress(s)
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// parseEncodedAddress parses a mailbox of any length. A text that mail.Address.String has written
// may be longer than maxAddress, because names with non-ASCII characters are encoded (RFC 2047).
func parseEncodedAddress(s string) (*mail.Address, error) {
	if !isText(s) {
		return nil, errors.New("has characters an address cannot have")
	}
	address, err := mail.ParseAddress(s)
	if err != nil {
		return nil, errors.New("is not an email address")
	}
	if strings.ContainsFunc(address.Name+address.Address, unicode.IsControl) {
		// An encoded word may hide a line break.
		return nil, errors.New("has a line break or control character")
	}
	if domain := domainOf(address); !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return nil, errors.New("has a domain that cannot be written in ASCII (RFC 5891)")
		}
		address.Address = strings.TrimSuffix(address.Address, domain) + ascii
	}
	return address, nil
}

// domainOf returns the part of an address after the @.
func domainOf(address *mail.Address) string {
	return address.Address[strings.LastIndexByte(address.Address, '@')+1:]
}

// envelope returns an address in the form for MAIL and RCPT: in angle brackets, the local part
// quoted if necessary.
func envelope(address *mail.Address) string {
	return (&mail.Address{Address: address.Address}).String()
}
