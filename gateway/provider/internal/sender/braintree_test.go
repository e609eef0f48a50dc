package sender

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const braintreeTestKey = "integration_public_key:integration_private_key"

// TestBraintreePayload checks that a flipped bit in the payload or in the signature is refused.
func TestBraintreePayload(t *testing.T) {
	t.Parallel()
	p := declared(t, Braintree, provider.Options{})
	r := signed(t, p, braintreeTestKey, "", "evt_1")
	form, err := url.ParseQuery(string(r.Body))
	require.NoError(t, err)
	for _, name := range []string{braintreePayload, braintreeSignature} {
		value := form.Get(name)
		for bit := range len(value) * 8 {
			form.Set(name, prooftest.Flip(value, bit))
			r.Body = []byte(form.Encode())
			require.Error(t, verify(t, p, braintreeTestKey, r), "%s", r.Body)
		}
		form.Set(name, value)
	}
	require.Error(t, p.CheckSecret(secret.New("public_key_only")))
	require.Error(t, p.CheckSecret(secret.New(":private")))
}

// TestBraintreeChallengeIsNoOracle checks that a signed challenge, delivered as a payload, passes
// verification but contains no event.
func TestBraintreeChallengeIsNoOracle(t *testing.T) {
	t.Parallel()
	p := declared(t, Braintree, provider.Options{})
	secrets := []secret.Value{secret.New(braintreeTestKey)}
	r := &provider.Request{Method: http.MethodGet, URL: prooftest.URL("?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53"), Header: http.Header{}}
	answer, err := p.Handshake(t.Context(), r, secrets, prooftest.Now())
	require.NoError(t, err)
	forged := url.Values{braintreePayload: {"20f9f8ed05f77439fe955c977e4c8a53"}, braintreeSignature: {string(answer.Body)}}
	delivery := proof.Sample([]byte(forged.Encode()), proof.FormType)
	require.NoError(t, verify(t, p, braintreeTestKey, delivery))
	_, err = p.Events(delivery)
	require.IsType(t, &provider.EventError{}, err, "hex digits never decode from base64 to XML")

	_, err = p.Handshake(t.Context(), r, nil, prooftest.Now())
	require.ErrorIs(t, err, proof.ErrNoSecret)
}
