package destination

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Any user who knows a secret URL can post there, so the URL is neither stored nor shown.
func TestASecretURLIsStoredAsItsOrigin(t *testing.T) {
	t.Parallel()
	var called []string
	origin := receive(t, func(w http.ResponseWriter, r *http.Request) {
		called = append(called, r.RequestURI)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("no webhook at " + r.RequestURI))
	})
	o := HTTPOptions{SecretURL: secret.New(origin + "/services/T0/canary?sig=canary")}
	h := newTestHTTP(t, o)
	require.Equal(t, origin, h.FirstRequest(nil).URL)
	require.Equal(t, origin, o.ShownURL())

	e := testEffect()
	for _, stored := range []string{"", origin} { // before and after the first claim
		e.Request.URL = stored
		out := h.Send(t.Context(), e)
		require.Equal(t, ledger.VerdictTurnedAway, out.Verdict)
		require.Equal(t, "no webhook at <secret>", out.Excerpt)
		require.NotContains(t, out.Err.Error(), "canary")
	}
	e.Request.URL = origin + "/elsewhere"
	h.Send(t.Context(), e)
	require.Equal(t, []string{"/services/T0/canary?sig=canary", "/services/T0/canary?sig=canary", "/elsewhere"}, called)

	// The URL moves to another host. Effects that were tried at the old URL go to the new URL.
	called = nil
	moved := receive(t, func(_ http.ResponseWriter, r *http.Request) { called = append(called, "moved: "+r.RequestURI) })
	h = newTestHTTP(t, HTTPOptions{SecretURL: secret.New(moved + "/services/T1/canary")})
	e.Request.URL = origin
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Equal(t, []string{"moved: /services/T1/canary"}, called)

	h = newTestHTTP(t, HTTPOptions{SecretURL: secret.New("http://127.0.0.1:1/canary")})
	e.Request.URL = ""
	out := h.Send(t.Context(), e)
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.NotContains(t, out.Err.Error(), "canary")
}

func TestSecretURLsAreChecked(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://hooks.example.com/canary":       "",
		"https://hooks.example.com/?key=canary":  "",
		"https://hooks.example.com":              "is only an origin",
		"https://hooks.example.com/":             "is only an origin",
		"canary":                                 "url has a scheme other than http and https",
		"ftp://hooks.example.com/canary":         "url has a scheme other than http and https",
		"https://ann:canary@hooks.example.com/x": "url contains a user or password",
		"https://hooks.example.com/%zzcanary":    "url is not valid",
	} {
		err := HTTPOptions{SecretURL: secret.New(given)}.WithDefaults().Validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want, given)
		require.True(t, strings.HasPrefix(err.Error(), "secret_url: "), err)
		require.NotContains(t, err.Error(), "canary")
	}
	require.ErrorContains(t, HTTPOptions{URL: "https://a.example", SecretURL: secret.New("https://b.example/x")}.WithDefaults().Validate(), "at most one of url and secret_url")
	require.ErrorContains(t, HTTPOptions{}.WithDefaults().Validate(), "has no url; give url, secret_url or url_file")
}
