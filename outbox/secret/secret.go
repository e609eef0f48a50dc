// Package secret holds values that must never be printed.
package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

const text = "<secret>"

// Value is a shared secret, password or key. It prints as <secret> wherever it is formatted, logged
// or marshalled (I12). Only Reveal returns the secret itself.
type Value struct{ value string }

// New wraps a secret.
func New(value string) Value { return Value{value: value} }

// Reveal returns the secret itself, for the code that needs it.
func (v Value) Reveal() string { return v.value }

// IsZero reports whether v holds no secret.
func (v Value) IsZero() bool { return v.value == "" }

// Mark returns two hex digits by which a secret in a list is recognised after its position has
// changed. The mark need not be kept secret: it excludes 255 of 256 guesses, which does not help an
// attacker if the secret is random. The mark depends on the list's name, so it does not show that
// two lists contain the same secret.
func (v Value) Mark(list string) string {
	sum := sha256.Sum256([]byte(list + "\x00" + v.value))
	return hex.EncodeToString(sum[:1])
}

// String implements fmt.Stringer.
func (v Value) String() string { return text }

// GoString implements fmt.GoStringer, for %#v.
func (v Value) GoString() string { return text }

// LogValue implements slog.LogValuer.
func (v Value) LogValue() slog.Value { return slog.StringValue(text) }

// MarshalText implements encoding.TextMarshaler, for JSON and YAML.
func (v Value) MarshalText() ([]byte, error) { return []byte(text), nil }
