package sender

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// plaidClaims returns the claims of a token for body, issued at prooftest.Now().
func plaidClaims(body string) jwt.MapClaims {
	sum := sha256.Sum256([]byte(body))
	return jwt.MapClaims{"iat": prooftest.Now().Unix(), "request_body_sha256": hex.EncodeToString(sum[:])}
}

// plaidDelivery returns a genuine delivery, signed at a given time.
func plaidDelivery(t *testing.T, p *provider.Provider, at time.Time, client netip.Prefix) *provider.Request {
	t.Helper()
	r := p.Sample("", "i1", at)
	r.URL, r.Client = prooftest.URL(""), client
	require.NoError(t, p.Sign(r, secret.New(prooftest.ECDSAPEM()), at))
	return r
}

// TestForgedPlaidKeysKeepNobodyOut lets an unknown sender send requests as fast as it can, each
// with another unknown key. Plaid's own delivery, whose key is not known yet, is still accepted.
func TestForgedPlaidKeysKeepNobodyOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &plaidAPI{}
		p := declared(t, Plaid, provider.Options{Fetch: api})
		account := []secret.Value{secret.New(plaidAccountSecret)}
		forge := func(i int, client netip.Prefix) error {
			r := plaidRequest(t, plaidBody, plaidClaims(plaidBody), fmt.Sprint("unknown", i))
			r.Client = client
			_, err := p.Verify(t.Context(), r, account, prooftest.Now())
			require.Error(t, err)
			return err
		}
		for i := range 100 {
			err := forge(i, prooftest.Client("203.0.113.7"))
			require.Equal(t, i < 3, proof.IsUnknownKey(err), "%d: %v", i, err)
		}
		require.EqualValues(t, 3, api.asked.Load())
		_, err := p.Verify(t.Context(), plaidDelivery(t, p, prooftest.Now(), prooftest.Client("198.51.100.1")), account, prooftest.Now())
		require.NoError(t, err)

		// One network may use a quarter of the budget, and all unknown senders together three
		// quarters. A known key needs no budget, even when it is due to be checked again.
		for i := range 200 {
			_ = forge(1000+i, prooftest.Client(fmt.Sprint("198.51.101.", i)))
		}
		require.EqualValues(t, 3+1+15, api.asked.Load())
		for i := range 200 {
			_ = forge(2000+i, prooftest.Client(fmt.Sprintf("198.52.%d.1", i)))
		}
		require.EqualValues(t, 45, api.asked.Load())
		fresh := plaidRequest(t, plaidBody, plaidClaims(plaidBody), "unknown9999")
		fresh.Client, fresh.Known = prooftest.Client("198.51.100.2"), true
		_, err = p.Verify(t.Context(), fresh, account, prooftest.Now())
		require.Error(t, err)
		require.EqualValues(t, 45+1, api.asked.Load(), "the rest is for known senders")
		time.Sleep(2 * proof.KeysFor) //nolint:forbidigo // synctest's clock
		later := prooftest.Now().Add(2 * proof.KeysFor)
		for i := range 200 {
			r := plaidRequest(t, plaidBody, jwt.MapClaims{"iat": later.Unix(), "request_body_sha256": plaidClaims(plaidBody)["request_body_sha256"]}, fmt.Sprint("later", i))
			r.Client = prooftest.Client(fmt.Sprint("198.51.102.", i))
			_, err := p.Verify(t.Context(), r, account, later)
			require.Error(t, err)
		}
		asked := api.asked.Load()
		_, err = p.Verify(t.Context(), plaidDelivery(t, p, later, prooftest.Client("198.51.100.1")), account, later)
		require.NoError(t, err)
		require.Equal(t, asked+1, api.asked.Load(), "the known key was fetched again")
	})
}

// TestPlaidTokensThatCannotBeTakenCauseNoFetch checks that a token's claims about its age and
// its body are checked before anything is fetched.
func TestPlaidTokensThatCannotBeTakenCauseNoFetch(t *testing.T) {
	t.Parallel()
	api := &plaidAPI{}
	p := declared(t, Plaid, provider.Options{Fetch: api})
	account := []secret.Value{secret.New(plaidAccountSecret)}
	without := func(name string, value any) jwt.MapClaims {
		claims := plaidClaims(plaidBody)
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
		return claims
	}
	for _, kid := range []string{"unknown", prooftest.KeyID(prooftest.ECDSAKey())} {
		for _, c := range []struct {
			claims jwt.MapClaims
			reason provider.Reason
		}{
			{without("iat", nil), provider.ReasonMissingTimestamp},
			{without("iat", "soon"), provider.ReasonMalformedTimestamp},
			{without("iat", prooftest.Now().Add(-7*time.Minute).Unix()), provider.ReasonOldTimestamp},
			{without("iat", prooftest.Now().Add(2*time.Minute).Unix()), provider.ReasonFutureTimestamp},
			{without("request_body_sha256", nil), provider.ReasonWrongBodyHash},
			{without("request_body_sha256", plaidBodyHash), provider.ReasonWrongBodyHash},
			{plaidClaims("another body"), provider.ReasonWrongBodyHash},
		} {
			requireReason(t, p, plaidRequest(t, plaidBody, c.claims, kid), account, c.reason)
		}
	}
	require.Zero(t, api.asked.Load())
}
