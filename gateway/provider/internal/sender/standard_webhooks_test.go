package sender

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Prefixes with which Standard Webhooks spells keys.
const (
	whsec = "whsec_"
	whsk  = "whsk_"
	whpk  = "whpk_"
)

// standardPair derives a key pair from a seed of 32 bytes.
func standardPair(seed string) (private, public string) {
	key := ed25519.NewKeyFromSeed([]byte(seed))
	return whsk + base64.StdEncoding.EncodeToString(key.Seed()), whpk + base64.StdEncoding.EncodeToString(key[ed25519.SeedSize:])
}

// standardDelivery returns a delivery whose signature header has one signature for each signer.
func standardDelivery(t *testing.T, p *provider.Provider, signers ...string) *provider.Request {
	t.Helper()
	r := p.Sample("", "msg_1", prooftest.Now())
	var signatures []string
	for _, signer := range signers {
		require.NoError(t, p.Sign(r, secret.New(signer), prooftest.Now()))
		signatures = append(signatures, r.Header.Get("Webhook-Signature"))
	}
	r.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	return r
}

func TestStandardWebhooksTakesBothSchemes(t *testing.T) {
	t.Parallel()
	const shared, otherShared = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	private, public := standardPair("the seed of a key pair, 32 bytes")
	otherPrivate, otherPublic := standardPair("the seed of another key pair, 32")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(private, whsk))
	require.NoError(t, err)
	long := whsk + base64.StdEncoding.EncodeToString(ed25519.NewKeyFromSeed(key))
	// The public key is not secret: it must never serve as an HMAC secret.
	confused := whsec + strings.TrimPrefix(public, whpk)

	p := declared(t, StandardWebhooks, provider.Options{})
	for name, test := range map[string]struct {
		signers, secrets []string
		index            int
		want             provider.Reason // "" if it is accepted
	}{
		"v1a":                         {signers: []string{private}, secrets: []string{public}},
		"v1a by a key of 64 bytes":    {signers: []string{long}, secrets: []string{public}},
		"v1 and v1a, one is known":    {signers: []string{otherShared, private}, secrets: []string{shared, public}, index: 1},
		"v1a and v1, the other is":    {signers: []string{otherPrivate, shared}, secrets: []string{public, shared}, index: 1},
		"both are known":              {signers: []string{shared, private}, secrets: []string{public, shared}, index: 1},
		"the new key beside the old":  {signers: []string{otherPrivate, private}, secrets: []string{public}},
		"the old key beside the new":  {signers: []string{private}, secrets: []string{otherPublic, public}, index: 1},
		"another key":                 {[]string{otherPrivate}, []string{public}, 0, provider.ReasonWrongSignature},
		"another key, other secrets":  {[]string{otherPrivate}, []string{shared, public}, 0, provider.ReasonWrongSignature},
		"another secret":              {[]string{otherShared}, []string{shared, public}, 0, provider.ReasonWrongSignature},
		"v1a where only v1 is known":  {[]string{private}, []string{shared}, 0, provider.ReasonMissingSignature},
		"v1 where only v1a is known":  {[]string{shared}, []string{public}, 0, provider.ReasonMissingSignature},
		"an HMAC by the public key":   {[]string{confused}, []string{public}, 0, provider.ReasonMissingSignature},
		"and where secrets are known": {[]string{confused}, []string{shared, public}, 0, provider.ReasonWrongSignature},
		"several keys, none is it":    {[]string{otherPrivate, otherShared}, []string{shared, public}, 0, provider.ReasonWrongSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets []secret.Value
			for _, text := range test.secrets {
				require.NoError(t, p.CheckSecret(secret.New(text)))
				secrets = append(secrets, secret.New(text))
			}
			r := standardDelivery(t, p, test.signers...)
			verified, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
			if test.want != "" {
				requireRefusal(t, test.want, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.index, verified.SecretIndex)
			require.Equal(t, prooftest.Now().Unix(), verified.SignedAt.Unix())
			require.NotEmpty(t, p.ReplayToken(r))

			_, err = p.Verify(t.Context(), r, secrets, prooftest.Now().Add(proof.StandardTolerance+time.Second))
			requireRefusal(t, provider.ReasonOldTimestamp, err)
			_, err = p.Verify(t.Context(), r, secrets, prooftest.Now().Add(-proof.StandardTolerance-time.Second))
			requireRefusal(t, provider.ReasonFutureTimestamp, err)
			tampered := &provider.Request{Method: http.MethodPost, Header: r.Header, Body: append([]byte(" "), r.Body...)}
			_, err = p.Verify(t.Context(), tampered, secrets, prooftest.Now())
			requireRefusal(t, provider.ReasonWrongSignature, err)
			otherID := &provider.Request{Method: http.MethodPost, Header: r.Header.Clone(), Body: r.Body}
			otherID.Header.Set("Webhook-Id", "msg_2")
			_, err = p.Verify(t.Context(), otherID, secrets, prooftest.Now())
			requireRefusal(t, provider.ReasonWrongSignature, err)
		})
	}
}

func TestStandardWebhooksRefusesUnusableKeys(t *testing.T) {
	t.Parallel()
	p := declared(t, StandardWebhooks, provider.Options{})
	for text, want := range map[string]string{
		"whpk_":                                 "the secret is empty",
		"whpk_%":                                "the secret is not base64: illegal base64 data at input byte 0",
		"whpk_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz": "the key has 24 bytes; an Ed25519 public key has 32",
		"whsk_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz": "the secret is not whsk_ followed by an Ed25519 private key",
		// The published pair, with some bytes of its public half changed.
		"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg==": "the secret is not whsk_ followed by an Ed25519 private key",
	} {
		require.EqualError(t, p.CheckSecret(secret.New(text)), want, text)
	}
	_, public := standardPair("the seed of a key pair, 32 bytes")
	require.EqualError(t, p.Sign(p.Sample("", "", prooftest.Now()), secret.New(public), prooftest.Now()), "signing needs the private key; this one is public")
}
