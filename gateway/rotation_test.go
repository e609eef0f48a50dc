package gateway_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// signedWith returns a function that signs a request with the given key instead of testSecret.
func signedWith(key, body string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Signature", sign(key, []byte(body))) }
}

// The test rotates a secret under load, as docs/receiving.md describes. No delivery is refused,
// and the old secret is refused once it has expired.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var seconds atomic.Int64
	withSecrets := func(secrets ...gateway.Secret) []gateway.Source {
		return []gateway.Source{{Name: "orders", Provider: signer(), Secrets: secrets}}
	}
	old := gateway.Secret{Value: secret.New("old-key")}
	renewed := gateway.Secret{Value: secret.New("new-key")}
	b := setup(t, func(o *gateway.Options) {
		o.Sources = withSecrets(old)
		o.Now = func() time.Time { return start.Add(time.Duration(seconds.Load()) * time.Second) }
	})

	// The senders sign each delivery with the key that is current at that moment. The delivery
	// may arrive at any later time.
	var key atomic.Value
	key.Store("old-key")
	var sent, refused atomic.Int64
	stop := make(chan struct{})
	var senders sync.WaitGroup
	var signedOld sync.RWMutex // held for reading while a delivery is on its way
	for n := range 8 {
		senders.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"id":"%d-%d","type":"x"}`, n, i)
				signedOld.RLock()
				got := b.post(t, "orders", body, signedWith(key.Load().(string), body))
				signedOld.RUnlock()
				if got.status == http.StatusUnauthorized {
					refused.Add(1)
				}
				sent.Add(1)
			}
		})
	}
	// more waits until the senders have sent 100 more deliveries.
	more := func() {
		t.Helper()
		target := sent.Load() + 100
		require.Eventually(t, func() bool { return sent.Load() >= target }, 2*time.Minute, time.Millisecond)
	}

	more()
	end := start.Add(time.Minute)
	require.NoError(t, b.gateway.SetSources(withSecrets(renewed, gateway.Secret{Value: old.Value, NotAfter: end})))
	more()
	key.Store("new-key") // replaced at the provider
	more()
	signedOld.Lock() // nothing signed with the old key is on its way
	seconds.Store(61)
	signedOld.Unlock()
	more()
	require.NoError(t, b.gateway.SetSources(withSecrets(renewed)))
	more()
	close(stop)
	senders.Wait()

	require.Zero(t, refused.Load(), "of %d", sent.Load())
	matched := b.counts(t, "hooklatch.secrets.matched")
	require.Positive(t, matched["secret=1,source=orders"])
	require.Positive(t, matched["secret=2,source=orders"])
	require.Equal(t, sent.Load(), matched["secret=1,source=orders"]+matched["secret=2,source=orders"])
	body := `{"id":"late","type":"x"}`
	require.Equal(t, http.StatusUnauthorized, b.post(t, "orders", body, signedWith("old-key", body)).status)
}

func TestSecretsAreAcceptedForTheirTime(t *testing.T) {
	t.Parallel()
	from, until := testNow.Add(time.Hour), testNow.Add(2*time.Hour)
	for _, test := range []struct {
		name    string
		now     time.Time
		retries bool // true if retries are signed with old secrets
		status  int
	}{
		{"too early", from.Add(-time.Second), false, http.StatusUnauthorized},
		{"from its first moment", from, false, http.StatusOK},
		{"to its last", until, false, http.StatusOK},
		{"too late", until.Add(time.Second), false, http.StatusUnauthorized},
		{"a retry after its end", until.Add(24 * time.Hour), true, http.StatusOK},
		{"a retry too late", until.Add(24*time.Hour + time.Second), true, http.StatusUnauthorized},
		{"a retry before its beginning", from.Add(-time.Second), true, http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := signer()
			p.RetryWindow, p.OldSecretRetries = 24*time.Hour, test.retries
			b := setup(t, func(o *gateway.Options) {
				o.Now = func() time.Time { return test.now }
				o.Sources = []gateway.Source{{Name: "orders", Provider: p, Secrets: []gateway.Secret{
					{Value: secret.New("always")}, {Value: secret.New("bound"), NotBefore: from, NotAfter: until},
				}}}
			})
			body := `{"id":"a","type":"x"}`
			require.Equal(t, test.status, b.post(t, "orders", body, signedWith("bound", body)).status)
			if test.status == http.StatusOK {
				require.Equal(t, map[string]int64{"secret=2,source=orders": 1}, b.counts(t, "hooklatch.secrets.matched"))
			}
			require.Equal(t, http.StatusOK, b.post(t, "orders", body, signedWith("always", body)).status)
			require.NotContains(t, b.logs.String(), "bound")
		})
	}
}

// If no secret is currently valid, Hooklatch is at fault: the sender is asked to retry.
func TestNoSecretOfTheMoment(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "orders", Provider: signer(), Secrets: []gateway.Secret{
			{Value: secret.New(testSecret), NotAfter: testNow.Add(-time.Hour)},
		}}}
	})
	got := b.post(t, "orders", `{"id":"a","type":"x"}`)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	requireRetryAfter(t, got)
	require.Contains(t, b.logs.String(), `"reason":"no_valid_secret"`)

	// A bulk run counts a quarantined delivery as refused if its source has no valid secret, and
	// continues with the next one.
	_, err := b.gateway.AcceptAgain(t.Context(), &quarantine.Delivery{
		Source: "orders", RejectedAt: testNow, Method: http.MethodPost, Target: "/webhooks/orders", Body: []byte(`{"id":"a"}`),
	})
	var refused *gateway.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "no_valid_secret", refused.Reason)
	require.False(t, refused.Ours)
	require.Empty(t, b.accepter.all())
}

func TestKeylessSourceNeedsNoSecret(t *testing.T) {
	t.Parallel()
	p := signer()
	p.Keyless, p.Verify = true, proves
	b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{{Name: "orders", Provider: p}} })
	require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"a","type":"x"}`).status)
	require.Len(t, b.accepter.all(), 1)
}
