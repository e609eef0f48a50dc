package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Secret is one key of a source. Where it is nothing but the key, it stands in
// the file as text.
type Secret struct {
	// The secret itself.
	Value secret.Value `yaml:"value,omitempty"`
	// From when on it is accepted, like 2026-12-01T00:00:00Z. Defaults to
	// always.
	NotBefore time.Time `yaml:"not_before,omitempty"`
	// Until when it is accepted, like 2026-12-08T00:00:00Z. Where the provider
	// signs retries of older events with the secret they were first sent with,
	// it is accepted for as long as the provider retries after that. Defaults to
	// always.
	NotAfter time.Time `yaml:"not_after,omitempty"`
	// How this secret spells its key: raw, base64 or hex. Only for hmac and for senders of
	// Standard Webhooks, where one may have changed its mind. Defaults to that of the
	// source.
	Encoding string `yaml:"encoding,omitempty"`
}

// Key is a secret of the source as its provider takes it.
func (s Source) Key(one Secret) (secret.Value, error) {
	if one.Encoding == "" {
		return one.Value, nil
	}
	p, err := s.Sender()
	if err != nil {
		return secret.Value{}, err
	}
	if p.SecretAs == nil {
		return secret.Value{}, fmt.Errorf("encoding means nothing with provider %s, whose secrets have one spelling; leave it out", s.Provider)
	}
	return p.SecretAs(one.Value, one.Encoding)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// overlaps reports whether there is a moment at which both are accepted.
func (s Secret) overlaps(other Secret) bool {
	before := func(end, begin time.Time) bool { return !end.IsZero() && !begin.IsZero() && end.Before(begin) }
	return !before(s.NotAfter, other.NotBefore) && !before(other.NotAfter, s.NotBefore)
}

// checkSecrets checks each secret of a source for itself and against those
// before it. at is the source, usable what the provider says of a value, nil
// when it is not known or takes all.
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
			continue // or reported when it was read
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
				// Which of the two matched could not be told.
				d.reportf(path, "is the same secret as number %d, in line %d, and both are accepted at some time; give it once, or times that do not overlap",
					j+1, d.origin.line(d.place(at+".secrets["+strconv.Itoa(j)+"]")))
			}
		}
	}
}

// CurrentSecret is the first secret of the source that is accepted at a moment:
// what its sender would sign with. False: there is none.
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
