package destination

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Every receiver that has the secret accepts a signed request as Hooklatch's. An attacker who can
// put a URL into an event must not receive a signature.
func TestHTTPSignsForItsOwnOriginOnly(t *testing.T) {
	t.Parallel()
	var calls []string
	record := func(_ http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.Host+" "+strings.Join(r.Header.Values("Webhook-Signature"), ","))
	}
	own, named, foreign := receive(t, record), receive(t, record), receive(t, record)
	h := newTestHTTP(t, HTTPOptions{
		URL: own + "/hooks", Sign: &Sign{StandardWebhooks: []secret.Value{secret.New("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")}},
		SignOrigins:  []string{named},
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	e := testEffect()
	for _, target := range []string{own + "/elsewhere", named + "/too"} {
		e.Request.URL = target
		require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
		require.Contains(t, calls[len(calls)-1], " v1,")
	}

	e.Request.URL = foreign + "/?token=canary"
	sent := len(calls)
	out := h.Send(t.Context(), e)
	require.Len(t, calls, sent, "a foreign origin is not called, because it would get the body unsigned")
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.True(t, out.NeedsPerson)
	require.EqualError(t, out.Err, "requests of this destination are signed, and may go only to the origin of its url or to one of its sign_origins")
}

func TestHTTPWithoutSigningGoesWhereTheRequestSays(t *testing.T) {
	t.Parallel()
	var got capture
	h := newTestHTTP(t, HTTPOptions{
		URL: "https://example.com", AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	e := testEffect()
	e.Request.URL = receive(t, got.ServeHTTP)
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Empty(t, got.Header.Values("Webhook-Signature"))
}

func TestNewHTTPReadsSignOrigins(t *testing.T) {
	t.Parallel()
	key := []secret.Value{secret.New("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")}
	for origin, want := range map[string]string{
		"https://example.com":           "",
		"https://example.com:8443/":     "",
		"https://example.com/path":      `sign_origins[0]: "https://example.com/path" is more than an origin; allowed: scheme, host and port, like https://other.example.com:8443`,
		"https://example.com?token=x":   `sign_origins[0]: "https://example.com" is more than an origin; allowed: scheme, host and port, like https://other.example.com:8443`,
		"ftp://example.com":             `sign_origins[0]: "ftp://example.com" is not a web URL; allowed: an http:// or https:// URL with a host`,
		"https://user:canary@a.example": "sign_origins[0]: has a user or password; give them in separate fields",
	} {
		_, err := NewHTTP(HTTPOptions{Name: "app", URL: "https://example.com", Sign: &Sign{StandardWebhooks: key}, SignOrigins: []string{origin}})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, `http destination "app": `+want)
	}
	_, err := NewHTTP(HTTPOptions{Name: "app", URL: "https://example.com", SignOrigins: []string{"https://example.com"}})
	require.EqualError(t, err, `http destination "app": sign_origins: has no effect without sign`)
}
