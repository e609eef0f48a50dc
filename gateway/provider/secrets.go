package provider

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

var (
	errNoSecret    = errors.New("no secret is configured")
	errEmptySecret = errors.New("the secret is empty")
)

// keySpelling is how a configured secret spells the key of a scheme.
type keySpelling struct {
	encoding encoding
	prefix   string // taken off before decoding, where it is there
}

// key returns the bytes to sign with. Its errors never quote the secret.
func (k keySpelling) key(s secret.Value) ([]byte, error) {
	if s.IsZero() {
		return nil, errEmptySecret
	}
	key, err := k.encoding.decode(strings.TrimPrefix(s.Reveal(), k.prefix))
	if err != nil {
		return nil, fmt.Errorf("the secret is not %s: %w", k.encoding, err)
	}
	if len(key) == 0 {
		return nil, errEmptySecret
	}
	return key, nil
}

// check is key for a secret that is to be configured: it refuses a key that
// could be guessed, however long its spelling.
func (k keySpelling) check(s secret.Value) error {
	key, err := k.key(s)
	if err == nil && len(key) < minSecret {
		return errShortSecret
	}
	return err
}

// match returns the index of the first secret that made one of the given
// signatures. It computes and compares all of them whatever it finds, in
// constant time. A secret that cannot be used is an error only when no other
// one matches: the sender is not at fault then.
func (k keySpelling) match(secrets []secret.Value, given [][]byte, macs func(key []byte) [][]byte) (int, error) {
	if len(secrets) == 0 {
		return 0, errNoSecret
	}
	matched := -1
	var unusable error
	for i, s := range secrets {
		key, err := k.key(s)
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
	return 0, &VerifyError{Reason: ReasonWrongSignature}
}
