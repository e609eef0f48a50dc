package destination

import (
	"errors"
	"strings"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// NATSOptions configure NATS JetStream for effects of kind "nats". At most one of a username, a token
// and credentials may be set.
type NATSOptions struct {
	BrokerOptions `yaml:",inline"`

	// Subject of messages whose route does not set one. A stream must store this subject. Required.
	Subject string `yaml:"subject,omitempty"`
	// Token to log in with.
	Token secret.Value `yaml:"token,omitempty"`
	// Content of a credentials file (.creds): the user's JWT and its NKey seed.
	Credentials secret.Value `yaml:"credentials,omitempty"`
}

// WithDefaults returns a copy with the defaults filled in.
func (o NATSOptions) WithDefaults() NATSOptions {
	o.BrokerOptions = o.withDefaults(4222)
	return o
}

// Validate checks options whose defaults are filled in. Its error is option.Faults.
func (o NATSOptions) Validate() error {
	var c option.Check
	o.check(&c)
	if o.Subject == "" {
		c.Missing("subject", "has no subject")
	} else if err := checkSubject(o.Subject); err != nil {
		c.Failf("subject", o.Subject, "%s", strings.TrimPrefix(err.Error(), "the subject "))
	}
	logins := 0
	for _, given := range []bool{o.Username != "", !o.Token.IsZero(), !o.Credentials.IsZero()} {
		if given {
			logins++
		}
	}
	if logins > 1 {
		c.Failf("token", nil, "at most one of username, token and credentials may be given")
	}
	return c.Err()
}

// checkSubject rejects a subject to which no message can be published, or that would act as a
// command: an event must not be able to delete a stream.
func checkSubject(subject string) error {
	switch {
	case subject == "" || len(subject) > 255 || strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("the subject is empty, longer than 255 bytes, or has white space")
	case strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, "_INBOX."):
		return errors.New("the subject begins with $ or _INBOX., which are reserved for the server")
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || token == "*" || token == ">" {
			return errors.New("the subject has an empty part or a wildcard")
		}
	}
	return nil
}
