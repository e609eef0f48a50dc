package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Secret is one key of a source. A secret without other fields can be a text.
type Secret struct {
	// Text of the secret.
	Value secret.Value `yaml:"value,omitempty"`
	// Time from which the secret is accepted, such as 2026-12-01T00:00:00Z. Defaults to no limit.
	NotBefore time.Time `yaml:"not_before,omitempty"`
	// Time until which the secret is accepted, such as 2026-12-08T00:00:00Z. Some providers sign
	// retries of older events with the secret of the first delivery. For these providers, the
	// secret is still accepted afterwards, for as long as they retry. Defaults to no limit.
	NotAfter time.Time `yaml:"not_after,omitempty"`
	// Encoding of the key in this secret: raw, base64 or hex. Only for hmac and for senders of
	// Standard Webhooks, if a sender has changed its encoding. Defaults to the source's
	// secret_encoding.
	Encoding string `yaml:"encoding,omitempty"`
}

// Key returns a secret of the source in the form that its provider expects.
func (s Source) Key(one Secret) (secret.Value, error) {
	if one.Encoding == "" {
		return one.Value, nil
	}
	p, err := s.Sender()
	if err != nil {
		return secret.Value{}, err
	}
	if p.SecretAs == nil {
		return secret.Value{}, fmt.Errorf("encoding has no effect with provider %s, whose secrets have only one encoding; leave it out", s.Provider)
	}
	return p.SecretAs(one.Value, one.Encoding)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// overlaps reports whether both secrets are accepted at some common time.
func (s Secret) overlaps(other Secret) bool {
	before := func(end, begin time.Time) bool { return !end.IsZero() && !begin.IsZero() && end.Before(begin) }
	return !before(s.NotAfter, other.NotBefore) && !before(other.NotAfter, s.NotBefore)
}

// checkSecrets validates each secret of a source, alone and against earlier secrets. at is the
// source's path. usable is the provider's check of a value, or nil if the provider is unknown or
// accepts any value.
func (s Source) checkSecrets(d *decoder, at string, usable func(secret.Value) error) {
	for i, one := range s.Secrets {
		path := d.place(at + ".secrets[" + strconv.Itoa(i) + "]")
		if !one.NotBefore.IsZero() && !one.NotAfter.IsZero() && !one.NotBefore.Before(one.NotAfter) {
			d.reportf(path+".not_after", "%s is not after not_before, %s: the secret would never be accepted", formatTime(one.NotAfter), formatTime(one.NotBefore))
		}
		if one.Value.IsZero() {
			if _, inFile := d.origin.files[path+".value"]; !inFile && !d.reported(path) {
				d.missingf(path, "", "has no secret; give value or file")
			}
			continue // the value is missing, or was reported when it was read
		}
		if usable != nil {
			key, err := s.Key(one)
			if err == nil {
				err = usable(key)
			}
			if err != nil {
				d.reportf(path, "cannot be used by provider %s: %s", s.Provider, err)
			}
		}
		for j, other := range s.Secrets[:i] {
			if other.Value == one.Value && other.overlaps(one) {
				// If two secrets were equal, a match would not show which secret was used.
				d.reportf(path, "is the same secret as number %d, on line %d, and their times overlap; give it once, or with times that do not overlap",
					j+1, d.origin.line(d.place(at+".secrets["+strconv.Itoa(j)+"]")))
			}
		}
	}
}

// CurrentSecret returns the first secret of the source that is accepted at the given time: the
// secret with which a sender would sign. It returns false if there is none, or if Key returns an
// error for that secret.
func (s Source) CurrentSecret(now time.Time) (secret.Value, bool) {
	for _, one := range s.Secrets {
		early := now.Before(one.NotBefore)
		late := !one.NotAfter.IsZero() && now.After(one.NotAfter)
		if !early && !late {
			key, err := s.Key(one)
			return key, err == nil
		}
	}
	return secret.Value{}, false
}
