package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// byOwnKeys proves a token by the keys among the secrets, in place of those
// the sender publishes. Its error is unknown_key when the token is of none.
func (w *webToken) byOwnKeys(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	for i, s := range secrets {
		key, err := readKey(s)
		if err != nil {
			continue
		}
		id, err := keyID(publicOf(key))
		if err != nil {
			continue
		}
		own := *w
		own.keys = func(_ context.Context, given string, _ time.Time) ([]publishedKey, error) {
			return keysNamed([]publishedKey{{id: id, key: publicOf(key)}}, given), nil
		}
		verified, err := own.verify(ctx, r, nil, now)
		if !isUnknownKey(err) {
			verified.SecretIndex = i
			return verified, err
		}
	}
	return Verified{}, &VerifyError{Reason: ReasonUnknownKey}
}

func isUnknownKey(err error) bool {
	refused, ok := errors.AsType[*VerifyError](err)
	return ok && refused.Reason == ReasonUnknownKey
}
