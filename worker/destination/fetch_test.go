package destination

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	api := receive(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/who":
			io.WriteString(w, `"`+r.Method+" "+r.Header.Get("Authorization")+`"`)
		case "/large":
			io.WriteString(w, strings.Repeat("x", maxFetched+1))
		case "/elsewhere":
			http.Redirect(w, r, "/who", http.StatusFound)
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/hangs":
			<-r.Context().Done()
		}
	})
	within := func(timeout time.Duration) *Fetcher {
		f, err := NewFetcher(FetchOptions{Origin: api, Bearer: secret.New("t0ken"), Timeout: timeout})
		require.NoError(t, err)
		return f
	}
	f, hurried := within(time.Minute), within(300*time.Millisecond)

	body, failed := f.Fetch(t.Context(), api+"/who")
	require.Nil(t, failed)
	require.Equal(t, `"GET Bearer t0ken"`, string(body))

	host := strings.TrimPrefix(api, "http://")
	for path, want := range map[string]string{
		"/large":     "refetch: " + host + " answered more than 1048576 bytes",
		"/elsewhere": "refetch: " + host + " answered HTTP 302 Found",
		"/busy":      "refetch: " + host + " answered HTTP 429 Too Many Requests",
		"/hangs":     "refetch: no connection to " + host + " within 300ms",
	} {
		fetcher := f
		if path == "/hangs" {
			fetcher = hurried
		}
		body, failed := fetcher.Fetch(t.Context(), api+path)
		require.Nil(t, body)
		require.NotNil(t, failed, path)
		require.EqualError(t, failed.Err, want)
		require.Equal(t, ledger.VerdictNotApplied, failed.Verdict, "nothing was sent to the destination")
		require.Zero(t, failed.Status)
		if path == "/busy" {
			require.Equal(t, 7*time.Second, failed.RetryAfter)
		}
	}

	// The bearer and the exemption from the guard apply only to the origin.
	other := receive(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) })
	_, failed = f.Fetch(t.Context(), other)
	require.NotNil(t, failed)
	require.Equal(t, ledger.VerdictRefused, failed.Verdict)
	require.ErrorContains(t, failed.Err, "egress guard refused the host of its URL")
	allowed, err := NewFetcher(FetchOptions{Origin: api, Bearer: secret.New("t0ken"), AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	require.NoError(t, err)
	body, failed = allowed.Fetch(t.Context(), other)
	require.Nil(t, failed)
	require.Empty(t, body)

	h := newTestHTTP(t, HTTPOptions{URL: api, Bearer: secret.New("destination")})
	body, failed = h.Fetch(t.Context(), api+"/who")
	require.Nil(t, failed)
	require.Equal(t, `"GET Bearer destination"`, string(body))
	_, failed = h.Fetch(t.Context(), "ftp://example.com")
	require.Equal(t, ledger.VerdictRefused, failed.Verdict)
}

func TestFetchOptionsRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]FetchOptions{
		"a bearer token needs an origin to which it may be sent": {Bearer: secret.New("x")},
		"bearer has a character headers cannot have":             {Origin: "https://a.example", Bearer: secret.New("x\n")},
		"url has a scheme other than http and https":             {Origin: "ftp://a.example"},
		"timeout must be more than 0, got -1s":                   {Timeout: -time.Second},
	} {
		_, err := NewFetcher(o)
		require.EqualError(t, err, want)
	}
}

func TestOriginOf(t *testing.T) {
	t.Parallel()
	origin, err := OriginOf("https://api.example.com:8443/v1/")
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com:8443", origin)
	for _, literal := range []string{
		"", "https://api.example.com", "https://", "https:///x", "//api.example.com/", "https://user@api.example.com/", "ftp://a.example/", "/x",
	} {
		_, err := OriginOf(literal)
		require.Error(t, err, literal)
	}
}

func TestStoredError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header, value string
		status        int
		want          bool
	}{
		{"Idempotent-Replayed", "true", 500, true},
		{"Idempotent-Replayed", "TRUE", 503, true},
		{"Idempotent-Replayed", "true", 409, false},
		{"Idempotent-Replayed", "true", 200, false},
		{"Idempotent-Replayed", "false", 500, false},
		{"X-Other", "true", 500, false},
	} {
		h := newTestHTTP(t, HTTPOptions{URL: receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(c.header, c.value)
			w.WriteHeader(c.status)
		})})
		require.Equal(t, c.want, h.Send(t.Context(), testEffect()).StoredError, "%+v", c)
	}
	own := newTestHTTP(t, HTTPOptions{ReplayedHeader: "x-cached", URL: receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Cached", "true")
		w.WriteHeader(http.StatusInternalServerError)
	})})
	require.True(t, own.Send(t.Context(), testEffect()).StoredError)
}

// A rotated key replaces the effect's own key on the wire, including in the webhook-id. The
// provider's signature is passed on if the destination does not sign requests.
func TestKeyAndHeadersOnTheWire(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	url := receive(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	signs := newTestHTTP(t, HTTPOptions{URL: url, Sign: &Sign{StandardWebhooks: []secret.Value{secret.New("raw:key")}}})
	e := testEffect()
	e.WireKey = "hl_rotated"
	require.Equal(t, ledger.VerdictDone, signs.Send(t.Context(), e).Verdict)
	header := <-got
	require.Equal(t, "hl_rotated", header.Get("Idempotency-Key"))
	require.Equal(t, "hl_rotated", header.Get("Webhook-Id"))

	plain := newTestHTTP(t, HTTPOptions{URL: url})
	e.Request.Headers = map[string][]string{"Webhook-Id": {"msg_1"}, "Webhook-Signature": {"v1,abc"}, HeaderReceivedAt: {"2026-11-21T08:00:00Z"}}
	require.Equal(t, ledger.VerdictDone, plain.Send(t.Context(), e).Verdict)
	header = <-got
	require.Equal(t, "msg_1", header.Get("Webhook-Id"))
	require.Equal(t, "2026-11-21T08:00:00Z", header.Get("Hooklatch-Received-At"))
	require.Equal(t, ledger.VerdictDone, signs.Send(t.Context(), e).Verdict)
	header = <-got
	require.Equal(t, []string{"hl_rotated"}, header.Values("Webhook-Id"), "a destination that signs replaces a signature from before")
	require.NotEqual(t, "v1,abc", header.Get("Webhook-Signature"))
}
