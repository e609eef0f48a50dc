package proof

import (
	"context"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// ByOwnKeys verifies a token with the keys among the secrets instead of the sender's published
// keys. If a token names no key, ByOwnKeys tries each of these keys. It refuses the request as
// unknown_key if the token names a key that is not among them.
func (w *WebToken) ByOwnKeys(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	var refused error = &provider.VerifyError{Reason: provider.ReasonUnknownKey}
	for i, s := range secrets {
		key, err := ReadKey(s)
		if err != nil {
			continue
		}
		id, err := keyID(PublicOf(key))
		if err != nil {
			continue
		}
		own := *w
		own.Keys = func(_ context.Context, given string) ([]PublishedKey, error) {
			return keysNamed([]PublishedKey{{id: id, key: PublicOf(key)}}, given), nil
		}
		verified, err := own.Verify(ctx, r, nil, now)
		switch {
		case IsUnknownKey(err):
		case hasReason(err, provider.ReasonWrongSignature):
			refused = err
		default:
			verified.SecretIndex = i
			return verified, err
		}
	}
	return provider.Verified{}, refused
}

// IsUnknownKey reports whether a request was refused only because its key is unknown: another
// key set may still verify it.
func IsUnknownKey(err error) bool { return hasReason(err, provider.ReasonUnknownKey) }

func hasReason(err error, reason provider.Reason) bool {
	refused, ok := errors.AsType[*provider.VerifyError](err)
	return ok && refused.Reason == reason
}
