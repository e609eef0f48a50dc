package gateway_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// signedBy returns a provider's sample delivery with the given type and id, signed at the given
// time.
func signedBy(t *testing.T, p *provider.Provider, key secret.Value, eventType, id string, at time.Time) *provider.Request {
	t.Helper()
	r := p.Sample(eventType, id, at)
	require.NoError(t, p.Sign(r, key, at))
	return r
}

// deliver posts a provider.Request over HTTP.
func (b *testBundle) deliver(t *testing.T, name string, r *provider.Request) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/webhooks/"+name, bytes.NewReader(r.Body))
	require.NoError(t, err)
	request.Header = r.Header.Clone()
	return b.do(t, request)
}

// withCRC returns a copy of body with the wanted CRC-32. body must contain a run of 64 letters
// a; withCRC changes some of these to c. The checksum is linear in every bit, so 64 free bits
// are enough for any checksum.
func withCRC(t *testing.T, body []byte, want uint32) []byte {
	t.Helper()
	at := bytes.Index(body, bytes.Repeat([]byte("a"), 64))
	require.Positive(t, at, "no padding")
	type row struct{ effect, uses uint64 }
	var basis [32]*row
	for i := range 64 {
		flipped := bytes.Clone(body)
		flipped[at+i] = 'c'
		r := row{uint64(crc32.ChecksumIEEE(flipped) ^ crc32.ChecksumIEEE(body)), 1 << i}
		for bit := range 32 {
			if r.effect>>bit&1 == 0 {
				continue
			}
			if basis[bit] == nil {
				basis[bit] = &r
				break
			}
			r.effect, r.uses = r.effect^basis[bit].effect, r.uses^basis[bit].uses
		}
	}
	missing, uses := uint64(want^crc32.ChecksumIEEE(body)), uint64(0)
	for bit := range 32 {
		if missing>>bit&1 == 1 {
			require.NotNil(t, basis[bit])
			missing, uses = missing^basis[bit].effect, uses^basis[bit].uses
		}
	}
	forged := bytes.Clone(body)
	for i := range 64 {
		if uses>>i&1 == 1 {
			forged[at+i] = 'c'
		}
	}
	require.Equal(t, want, crc32.ChecksumIEEE(forged))
	return forged
}

func paypalSource(t *testing.T) (gateway.Source, secret.Value) {
	t.Helper()
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(pair)
	require.NoError(t, err)
	key := secret.New("WEBHOOK_ID " + base64.StdEncoding.EncodeToString(der))
	p, err := catalog.New("paypal", provider.Options{})
	require.NoError(t, err)
	return gateway.Source{Name: "pay", Provider: p, Secrets: []gateway.Secret{{Value: key}}}, key
}

// forgedPayment returns a payment with the given id, another amount and the same CRC-32 as body.
func forgedPayment(t *testing.T, body []byte, id string) []byte {
	t.Helper()
	forged, err := json.Marshal(map[string]any{
		"id": id, "event_type": "PAYMENT.CAPTURE.COMPLETED", "create_time": testNow.Format(time.RFC3339),
		"resource": map[string]any{"amount": map[string]any{"currency_code": "USD", "value": "999999.00"}},
		"summary":  string(bytes.Repeat([]byte("a"), 64)),
	})
	require.NoError(t, err)
	return withCRC(t, forged, crc32.ChecksumIEEE(body))
}

// PayPal signs a checksum of the body, and an attacker can construct another body with the same
// checksum. The gateway refuses such a body after it has accepted the genuine one.
func TestCapturedPayPalDeliveryTakesNoOtherBody(t *testing.T) {
	t.Parallel()
	source, key := paypalSource(t)
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
	genuine := signedBy(t, source.Provider, key, "", "WH-1", testNow)
	require.Equal(t, "accepted", b.deliver(t, "pay", genuine).header.Get(gateway.StatusHeader))
	require.Equal(t, "duplicate", b.deliver(t, "pay", genuine).header.Get(gateway.StatusHeader), "the same transmission repeated")

	for _, id := range []string{"WH-FORGED", "WH-1"} {
		forged := *genuine
		forged.Body = forgedPayment(t, genuine.Body, id)
		_, err := source.Provider.Verify(t.Context(), &forged, []secret.Value{key}, testNow)
		require.NoError(t, err, "the signature matches the forged body")
		got := b.deliver(t, "pay", &forged)
		require.Equal(t, http.StatusUnauthorized, got.status, id)
		require.Equal(t, `{"error":"unauthorized"}`, got.body)
	}
	require.Equal(t, map[string]int64{"reason=replayed_with_other_content,source=pay": 2}, b.counts(t, "hooklatch.rejected"))

	// PayPal's own retry sends the same body.
	again := *genuine
	again.Header = genuine.Header.Clone()
	again.Header.Del("Paypal-Transmission-Id")
	require.NoError(t, source.Provider.Sign(&again, key, testNow.Add(-time.Minute)))
	require.Equal(t, "duplicate", b.deliver(t, "pay", &again).header.Get(gateway.StatusHeader))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM hooklatch.processed_events"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM hooklatch.river_job"))
}

func TestPayPalTransmissionsGrowOld(t *testing.T) {
	t.Parallel()
	source, key := paypalSource(t)
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
	const days = 24 * time.Hour
	require.Equal(t, http.StatusOK, b.deliver(t, "pay", signedBy(t, source.Provider, key, "", "WH-1", testNow.Add(-3*days+time.Minute))).status)
	old := signedBy(t, source.Provider, key, "", "WH-2", testNow.Add(-3*days-time.Minute))
	require.Equal(t, http.StatusUnauthorized, b.deliver(t, "pay", old).status)
	require.Equal(t, map[string]int64{"reason=old_timestamp,source=pay": 1}, b.counts(t, "hooklatch.rejected"))
}

// A reader of the database, or a receiver of verbatim deliveries, must not get the data needed
// to forge another body.
func TestPayPalSignatureIsNotStored(t *testing.T) {
	t.Parallel()
	source, key := paypalSource(t)
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
	r := signedBy(t, source.Provider, key, "", "WH-1", testNow)
	require.Equal(t, http.StatusOK, b.deliver(t, "pay", r).status)
	e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "pay", EventID: "WH-1"})
	require.NoError(t, err)
	require.Contains(t, e.Headers, "Paypal-Transmission-Id")
	require.Contains(t, e.Headers, "Paypal-Transmission-Time")
	for _, name := range []string{"Paypal-Transmission-Sig", "Paypal-Auth-Algo", "Paypal-Cert-Url"} {
		require.NotEmpty(t, r.Header.Get(name), "the delivery has the header")
		require.NotContains(t, e.Headers, name)
	}
	require.Zero(t, b.count(t, "SELECT count(*) FROM hooklatch.deliveries WHERE headers::text LIKE '%' || $1 || '%'",
		r.Header.Get("Paypal-Transmission-Sig")))
}
