package sender

import (
	"crypto/x509"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// fetching is a provider that fetches a key from its sender, and a delivery that needs this key.
type fetching struct {
	published http.RoundTripper
	declare   func(provider.Options) (*provider.Provider, error)
	options   provider.Options
	secrets   []secret.Value
	signed    func(t *testing.T, p *provider.Provider) *provider.Request
}

func fetchingProviders() map[string]fetching {
	root, year := prooftest.NewIssuer(nil), prooftest.Now().AddDate(1, 0, 0)
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	const snsCertificate = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a1b.pem"
	return map[string]fetching{
		"aws-sns": {
			published: prooftest.Published{snsCertificate: root.Leaf("sns.amazonaws.com", year)},
			declare:   SNS,
			secrets:   []secret.Value{secret.New(prooftest.SNSTopic)},
			signed: func(t *testing.T, p *provider.Provider) *provider.Request {
				t.Helper()
				r := p.Sample(snsNotification, "m1", prooftest.Now())
				r.Body = prooftest.Must(sjson.SetBytes(r.Body, "TopicArn", prooftest.SNSTopic))
				r.Body = prooftest.Must(sjson.SetBytes(r.Body, "SigningCertURL", snsCertificate))
				require.NoError(t, p.Sign(r, secret.New(prooftest.RSAPEM()), prooftest.Now()))
				return r
			},
		},
		"jwt": {
			published: prooftest.PublishedKeys(issuerKeys)(),
			declare:   JWT,
			options:   provider.Options{JWKSURL: issuerKeys, Audience: "me", EventID: provider.EventID{Pointer: "/id"}},
			signed: func(t *testing.T, _ *provider.Provider) *provider.Request {
				t.Helper()
				return issued(t, jwt.SigningMethodRS256, prooftest.KeyID(prooftest.RSAKey()), prooftest.RSAKey(), forMe())
			},
		},
		"paypal": {
			published: prooftest.Published{paypalTestURL: root.Leaf("messageverificationcerts.paypal.com", year)},
			declare:   PayPal,
			options:   provider.Options{Roots: pool},
			secrets:   []secret.Value{secret.New("WEBHOOK_ID")},
			signed: func(t *testing.T, p *provider.Provider) *provider.Request {
				t.Helper()
				r := p.Sample("", "WH-1", prooftest.Now())
				r.Header.Set(paypalCertURL, paypalTestURL)
				require.NoError(t, p.Sign(r, secret.New(paypalTestKey()), prooftest.Now()))
				return r
			},
		},
		"plaid": {
			published: &plaidAPI{},
			declare:   Plaid,
			secrets:   []secret.Value{secret.New(plaidAccountSecret)},
			signed: func(t *testing.T, p *provider.Provider) *provider.Request {
				t.Helper()
				return plaidDelivery(t, p, prooftest.Now(), prooftest.Client("198.51.100.1"))
			},
		},
	}
}

// A failed fetch of a key is repeated even if the time that Verify receives does not advance. A
// bulk run verifies a quarantined delivery with its time of arrival, and repeats this until Verify
// accepts or refuses the delivery.
func TestAFailedFetchIsRepeatedAtTheSameTime(t *testing.T) {
	t.Parallel()
	for name, c := range fetchingProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				away := true
				c.options.Fetch = roundTrip(func(r *http.Request) (*http.Response, error) {
					if away {
						return nil, errors.New("no such host")
					}
					return c.published.RoundTrip(r)
				})
				p := declared(t, c.declare, c.options)
				r := c.signed(t, p)
				_, err := p.Verify(t.Context(), r, c.secrets, prooftest.Now())
				require.ErrorContains(t, err, "no such host")
				require.NotErrorAs(t, err, new(*provider.VerifyError))
				away = false
				time.Sleep(proof.AfterFailure) //nolint:forbidigo // synctest's clock
				_, err = p.Verify(t.Context(), r, c.secrets, prooftest.Now())
				require.NoError(t, err)
			})
		})
	}
}

// A cached key set ages even if the time that Verify receives does not advance, so a key that the
// sender publishes later is found.
func TestANewKeyIsFoundAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prooftest.NewAnswers(prooftest.Says(string(prooftest.KeySet(prooftest.Ed25519Key()))))
		c := fetchingProviders()["jwt"]
		c.options.Fetch = s
		p := declared(t, c.declare, c.options)
		_, err := p.Verify(t.Context(), c.signed(t, p), nil, prooftest.Now())
		requireRefusal(t, provider.ReasonUnknownKey, err)
		s.Answer(prooftest.Says(string(prooftest.KeySet(prooftest.RSAKey()))))
		time.Sleep(proof.NewKeysAfter) //nolint:forbidigo // synctest's clock
		_, err = p.Verify(t.Context(), c.signed(t, p), nil, prooftest.Now())
		require.NoError(t, err)
	})
}
