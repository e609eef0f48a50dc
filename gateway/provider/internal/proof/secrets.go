package proof

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

var (
	// ErrNoSecret means that no secret is configured.
	ErrNoSecret = errors.New("no secret is configured")
	// ErrEmptySecret means that a configured secret has no bytes to sign with.
	ErrEmptySecret = errors.New("the secret is empty")
)

// KeySpelling is the encoding of a scheme's key in a configured secret.
type KeySpelling struct {
	Encoding Encoding
	Prefix   string // removed before decoding, if present
	// Readings are all encodings that senders use. Nil: senders use only Encoding.
	Readings *Readings
}

// Key returns the bytes to sign with. Its errors never quote the secret.
func (k KeySpelling) Key(s secret.Value) ([]byte, error) {
	if s.IsZero() {
		return nil, ErrEmptySecret
	}
	text := s.Reveal()
	if k.Prefix == whsecPrefix { // Supabase shows v1,whsec_...
		if tagged, ok := strings.CutPrefix(text, "v1,"); ok && strings.HasPrefix(tagged, k.Prefix) {
			text = tagged
		}
	}
	key, err := k.Encoding.Decode(strings.TrimPrefix(text, k.Prefix))
	if err != nil && k.Prefix == whsecPrefix {
		return nil, fmt.Errorf("the secret is not %s, even without the prefix whsec_ or v1,whsec_: %w; if the sender uses the text itself "+
			"as the key (as with polar_whs_...), write the secret as {value: ..., encoding: raw}", k.Encoding, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the secret is not %s: %w", k.Encoding, err)
	}
	if len(key) == 0 {
		return nil, ErrEmptySecret
	}
	return key, nil
}

// Check returns an error if a secret must not be configured, because Key fails or the key is so
// short that it could be guessed. The length of the encoded key does not matter.
func (k KeySpelling) Check(s secret.Value) error {
	key, err := k.Key(s)
	if err == nil && len(key) < minSecret {
		return errShortSecret
	}
	return err
}

// Match returns the index of the first secret that created one of the given signatures. It tries
// every secret and every signature regardless of the result, and compares in constant time. If no
// secret matches and one of them is unusable, the error says so, because the sender may not be at
// fault.
func (k KeySpelling) Match(secrets []secret.Value, given [][]byte, macs func(key []byte) [][]byte) (int, error) {
	if len(secrets) == 0 {
		return 0, ErrNoSecret
	}
	matched := -1
	var unusable error
	for i, s := range secrets {
		key, err := k.Key(s)
		if err != nil {
			unusable = fmt.Errorf("secret %d: %w", i, err)
			continue
		}
		for _, mac := range macs(key) {
			for _, signature := range given {
				if hmac.Equal(mac, signature) && matched < 0 {
					matched = i
				}
			}
		}
	}
	switch {
	case matched >= 0:
		return matched, nil
	case unusable != nil:
		return 0, unusable
	}
	return 0, &provider.VerifyError{Reason: provider.ReasonWrongSignature, Detail: k.hint(secrets, given, macs)}
}
