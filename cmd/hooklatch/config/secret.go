package config

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Secret is one key of a source. Where it is nothing but the key, it stands in
// the file as text.
type Secret struct {
	// The secret itself.
	Value secret.Value `yaml:"value,omitempty"`
	// A file that holds the secret, instead of value.
	File string `yaml:"file,omitempty"`
	// From when on it is accepted, like 2026-12-01T00:00:00Z. Defaults to
	// always.
	NotBefore time.Time `yaml:"not_before,omitempty"`
	// Until when it is accepted, like 2026-12-08T00:00:00Z. Where the provider
	// signs retries of older events with the secret they were first sent with,
	// it is accepted for as long as the provider retries after that. Defaults to
	// always.
	NotAfter time.Time `yaml:"not_after,omitempty"`
}

// MarshalYAML writes a secret as it may stand in the file.
func (s Secret) MarshalYAML() (any, error) {
	if s.File == "" && s.NotBefore.IsZero() && s.NotAfter.IsZero() {
		return s.Value.String(), nil
	}
	shown := struct {
		Value     string `yaml:"value,omitempty"`
		File      string `yaml:"file,omitempty"`
		NotBefore string `yaml:"not_before,omitempty"`
		NotAfter  string `yaml:"not_after,omitempty"`
	}{File: s.File, NotBefore: formatTime(s.NotBefore), NotAfter: formatTime(s.NotAfter)}
	if s.File == "" {
		shown.Value = s.Value.String()
	}
	return shown, nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// overlaps tells whether there is a moment at which both are accepted.
func (s Secret) overlaps(other Secret) bool {
	before := func(end, begin time.Time) bool { return !end.IsZero() && !begin.IsZero() && end.Before(begin) }
	return !before(s.NotAfter, other.NotBefore) && !before(other.NotAfter, s.NotBefore)
}

// checkSecrets checks each secret of a source for itself and against those
// before it. at is the source, usable what the provider says of a value, nil
// when it is not known or takes all.
func (s Source) checkSecrets(d *decoder, at string, usable func(secret.Value) error) {
	for i, one := range s.Secrets {
		path := d.element(at+".secrets", i)
		if s.SecretsFile != "" {
			path = at + ".secrets_file"
		}
		if !one.NotBefore.IsZero() && !one.NotAfter.IsZero() && !one.NotBefore.Before(one.NotAfter) {
			d.reportf(path+".not_after", "%s is not after not_before, %s: the secret would never be accepted", formatTime(one.NotAfter), formatTime(one.NotBefore))
		}
		if one.Value.IsZero() {
			if one.File == "" && !d.reported(path) {
				d.missingf(path, "", "has no secret; give value or file")
			}
			continue // or reported when it was read
		}
		if usable != nil {
			if err := usable(one.Value); err != nil {
				d.reportf(path, "cannot be used by provider %s: %s", s.Provider, err)
			}
		}
		for j, other := range s.Secrets[:i] {
			if other.Value == one.Value && other.overlaps(one) {
				// Which of the two matched could not be told.
				d.reportf(path, "is the same secret as number %d, in line %d, and both are accepted at some time; give it once, or times that do not overlap",
					j+1, d.origin.line(d.element(at+".secrets", j)))
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
			return one.Value, true
		}
	}
	return secret.Value{}, false
}
