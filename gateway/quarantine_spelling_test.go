package gateway_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A quarantined delivery is accepted in every spelling of the secret in which it would have been
// accepted at once.
func TestEverySpellingIsAcceptedFromTheQuarantine(t *testing.T) {
	t.Parallel()
	const right, wrong = "user:right+secret/0123456789+", "user:wrong+secret/0123456789+"
	respelled := map[string]int{}
	for name, p := range retried(t) {
		if len(p.SecretHeaders)+len(p.SecretQuery) == 0 || p.Keyless || p.CheckSecret(secret.New(right)) != nil {
			continue
		}
		verifies := func(r *provider.Request) bool {
			_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(right)}, time.Now())
			return err == nil
		}
		var requests []*provider.Request
		for _, spell := range spellings(p, right) {
			r := p.Sample(map[string]string{"mollie": "payment"}[name], "", time.Now())
			r.URL, r.Method = mustURL("https://hooks.example.com/webhooks/real"), http.MethodPost
			require.NoError(t, p.Sign(r, secret.New(right), time.Now()))
			if spell(r); verifies(r) {
				if name != "meta" && name != "whatsapp" { // their deliveries are signed and carry no secret
					r.Header.Set("X-Copy", right)
				}
				requests = append(requests, r)
			}
		}
		respelled[name] = len(requests)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sourceWith := func(key string) []gateway.Source {
				return []gateway.Source{{Name: "real", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(key)}}}}
			}
			q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = sourceWith(wrong) })
			for _, r := range requests {
				require.Equal(t, http.StatusUnauthorized, q.sendAs(t, r).status)
			}
			kept := q.kept(t)
			require.Len(t, kept, len(requests))
			q.requireNowhere(t, secret.New(right))
			require.NoError(t, q.gateway.SetSources(sourceWith(right)))
			for i := range kept {
				a, err := q.gateway.AcceptAgain(t.Context(), &kept[i])
				require.NoError(t, err, "%v %s", requests[i].Header, requests[i].URL.RawQuery)
				require.Equal(t, 1, a.New())
			}
		})
	}
	for name, least := range map[string]int{"auth0": 8, "basic": 4, "postmark": 4, "token": 3, "token with another scheme": 3, "token in a query": 2, "mollie": 2} {
		require.GreaterOrEqual(t, respelled[name], least, name)
	}
}

// spellings returns functions that change the spelling of a signed request's secret, in ways that
// a provider may or may not accept.
func spellings(p *provider.Provider, text string) []func(*provider.Request) {
	all := []func(*provider.Request){func(*provider.Request) {}}
	for _, name := range p.SecretQuery {
		all = append(all, func(r *provider.Request) { r.URL.RawQuery = name + "=" + text }) // + is not escaped
	}
	packed := base64.StdEncoding.EncodeToString([]byte(text))
	for _, name := range p.SecretHeaders {
		for _, respell := range []func(scheme, rest string) string{
			func(scheme, rest string) string { return strings.ToLower(scheme) + " " + rest },
			func(scheme, rest string) string { return strings.ToUpper(scheme) + "   " + rest },
			func(scheme, rest string) string { return scheme + " " + strings.TrimRight(rest, "=") },
			func(string, string) string { return "Basic " + packed },
			func(string, string) string { return "basic  " + strings.TrimRight(packed, "=") },
			func(string, string) string {
				return "Basic " + base64.StdEncoding.EncodeToString([]byte("Bearer "+text))
			},
			func(string, string) string { return "bearer " + text },
			func(string, string) string { return text },
		} {
			all = append(all, func(r *provider.Request) {
				scheme, rest, _ := strings.Cut(r.Header.Get(name), " ")
				r.Header.Set(name, respell(scheme, rest))
			})
		}
	}
	return all
}
