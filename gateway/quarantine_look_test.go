package gateway_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// calls counts requests by their action. Every request gets an empty document.
type calls struct {
	mu sync.Mutex
	of map[string]int
}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[r.URL.Query().Get("Action")]++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// WouldAccept is called when an operator looks at a quarantined delivery. It confirms no
// subscription.
func TestWouldAcceptConfirmsNothing(t *testing.T) {
	t.Parallel()
	sender := &calls{of: map[string]int{}}
	p, err := catalog.New("aws-sns", provider.Options{Fetch: sender})
	require.NoError(t, err)
	key := func() gateway.Secret {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		der, err := x509.MarshalPKCS8PrivateKey(made)
		require.NoError(t, err)
		return gateway.Secret{Value: secret.New(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))}
	}
	right, wrong := key(), key()
	sourceWith := func(key gateway.Secret) []gateway.Source {
		return []gateway.Source{{Name: "orders", Provider: p, Secrets: []gateway.Secret{key}}}
	}
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = sourceWith(wrong) })
	r := p.Sample("SubscriptionConfirmation", "", time.Now())
	require.NoError(t, p.Sign(r, right.Value, time.Now()))
	require.Equal(t, http.StatusUnauthorized, q.deliver(t, "orders", r).status)
	kept := q.kept(t)
	require.Len(t, kept, 1)
	require.NoError(t, q.gateway.SetSources(sourceWith(right)))

	var refused *gateway.RefusedError
	require.ErrorAs(t, q.gateway.WouldAccept(t.Context(), &kept[0]), &refused)
	require.Equal(t, "no_delivery", refused.Reason)
	require.Empty(t, sender.of)
	tries := 0
	require.Eventually(t, func() bool { // a busy machine may exceed the second that a confirmation may take
		tries++
		_, err := q.gateway.AcceptAgain(t.Context(), &kept[0])
		return errors.As(err, &refused) && !refused.Ours
	}, 2*time.Minute, time.Millisecond)
	require.Equal(t, "no_delivery", refused.Reason)
	require.Len(t, sender.of, 1)
	require.Positive(t, sender.of["ConfirmSubscription"])
	require.LessOrEqual(t, sender.of["ConfirmSubscription"], tries)
}
