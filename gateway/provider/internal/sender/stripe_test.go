package sender

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestStripeRefusesAKeyOfItsAPI(t *testing.T) {
	t.Parallel()
	p := declared(t, Stripe, provider.Options{})
	for _, key := range []string{"sk_live_canary0123456789", "sk_test_canary0123456789", "rk_live_canary0123456789", "pk_test_canary0123456789"} {
		err := p.CheckSecret(secret.New(key))
		require.ErrorContains(t, err, key[:8]+" is a Stripe API key, not the signing secret of an endpoint, which begins with whsec_")
		require.NotContains(t, err.Error(), "canary")
	}
	require.NoError(t, p.CheckSecret(secret.New("whsec_0123456789abcdef0123456789abcdef")))
}
