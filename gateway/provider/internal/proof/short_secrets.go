package proof

import (
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// minSecret is the minimum length of a secret, in bytes. Senders create longer secrets; a shorter
// one is a mistake, such as a placeholder that was never filled in.
const minSecret = 8

var errShortSecret = fmt.Errorf("the secret has fewer than %d bytes, so it could be guessed. Use the one that the sender generated. If you choose it, set the same random secret at the sender and here (openssl rand -hex 32)", minSecret)

// NotGuessable extends the check of a configured secret: it also refuses short secrets.
func NotGuessable(usable func(secret.Value) error) func(secret.Value) error {
	return func(s secret.Value) error {
		if usable != nil {
			if err := usable(s); err != nil {
				return err
			}
		}
		if len(strings.TrimPrefix(s.Reveal(), whsecPrefix)) < minSecret {
			return errShortSecret
		}
		return nil
	}
}

// CheckPassword refuses a short password in name:password, because a long name does not make
// it harder to guess.
func CheckPassword(s secret.Value) error {
	if _, password, _ := strings.Cut(s.Reveal(), ":"); len(password) < minSecret {
		return errShortSecret
	}
	return nil
}
