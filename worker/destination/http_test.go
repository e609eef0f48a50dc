package destination

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestHTTPVerdictOfEveryStatus(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, err := fmt.Sscanf(r.URL.Path, "/%d", &status)
		if err != nil {
			status = http.StatusTeapot
		}
		if wait := r.URL.Query().Get("retry"); wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			fmt.Fprintf(w, "this is %d", status)
		}
	})})
	send := func(path string, change func(*ledger.Effect)) Outcome {
		e := testEffect()
		e.Request.URL = h.url.String() + path
		if change != nil {
			change(e)
		}
		return h.Send(t.Context(), e)
	}

	for status, want := range map[int]ledger.Verdict{
		200: ledger.VerdictDone, 201: ledger.VerdictDone, 202: ledger.VerdictDone, 204: ledger.VerdictDone, 299: ledger.VerdictDone,
		301: ledger.VerdictRefused, 302: ledger.VerdictRefused, 304: ledger.VerdictRefused, 307: ledger.VerdictRefused, 308: ledger.VerdictRefused,
		400: ledger.VerdictRefused, 402: ledger.VerdictRefused, 405: ledger.VerdictRefused, 451: ledger.VerdictRefused,
		401: ledger.VerdictTurnedAway, 403: ledger.VerdictTurnedAway, 404: ledger.VerdictTurnedAway,
		407: ledger.VerdictTurnedAway, 421: ledger.VerdictTurnedAway, 423: ledger.VerdictTurnedAway,
		409: ledger.VerdictRefused, 410: ledger.VerdictRefused, 413: ledger.VerdictRefused, 422: ledger.VerdictRefused,
		408: ledger.VerdictMaybeApplied, 425: ledger.VerdictNotApplied, 429: ledger.VerdictNotApplied,
		500: ledger.VerdictMaybeApplied, 502: ledger.VerdictMaybeApplied, 503: ledger.VerdictMaybeApplied,
		504: ledger.VerdictMaybeApplied, 599: ledger.VerdictMaybeApplied, 799: ledger.VerdictMaybeApplied,
	} {
		out := send(fmt.Sprintf("/%d", status), nil)
		require.Equal(t, want, out.Verdict, status)
		require.Equal(t, status, out.Status)
		require.Equal(t, want == ledger.VerdictDone, out.Err == nil, status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			require.Equal(t, fmt.Sprintf("this is %d", status), out.Excerpt)
		}
	}

	out := send("/429?retry=17", nil)
	require.Equal(t, 17*time.Second, out.RetryAfter)
	require.EqualError(t, out.Err, "HTTP 429 Too Many Requests")
	require.Equal(t, 90*time.Second, send("/503?retry=90", nil).RetryAfter)
	require.Equal(t, ledger.VerdictMaybeApplied, send("/409?retry=1", nil).Verdict, "a request with the key is in progress")
	require.Equal(t, ledger.VerdictMaybeApplied, send("/409", func(e *ledger.Effect) { e.MaybeAppliedSince = time.Now() }).Verdict)
	require.Zero(t, send("/200?retry=5", nil).RetryAfter)
}

func TestHTTPRetryAfterDate(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Thu, 01 Oct 2026 08:00:00 GMT")
		w.Header().Set("Retry-After", "Thu, 01 Oct 2026 08:02:00 GMT")
		w.WriteHeader(http.StatusTooManyRequests)
	})})
	require.Equal(t, 2*time.Minute, h.Send(t.Context(), testEffect()).RetryAfter)
}

func TestHTTPFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/?canary=1", http.StatusTemporaryRedirect)
	})})
	out := h.Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.EqualError(t, out.Err, "HTTP 307 Temporary Redirect: redirects are not followed; the destination's url must be the final address")
}

func TestHTTPIgnoresProxiesOfTheEnvironment(t *testing.T) {
	proxy := receive(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("ALL_PROXY", proxy)
	// The proxy is allowed, but the target behind it is not.
	h := newTestHTTP(t, HTTPOptions{
		URL: "http://hooks.example.com", AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Resolver: resolveTo(t, func() netip.Addr { return netip.MustParseAddr("10.1.2.3") }),
	})
	out := h.Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictRefused, out.Verdict)
	require.Zero(t, out.Status)
	require.ErrorContains(t, out.Err, "egress guard refused")
}

func TestHTTPReceiverIsDown(t *testing.T) {
	t.Parallel()
	address := closedAddress(t)
	out := newTestHTTP(t, HTTPOptions{URL: "http://" + address + "/?token=canary"}).Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.EqualError(t, out.Err, "connect to "+address+": connect: connection refused")
	require.Zero(t, out.Status)
}

func TestHTTPNameCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{
		URL: "http://nowhere.example.com/?token=canary",
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("the resolver is down")
		}},
	})
	out := h.Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.EqualError(t, out.Err, "look up nowhere.example.com: the resolver is down")
}

func TestHTTPReceiverHangs(t *testing.T) {
	t.Parallel()
	t.Run("before the TLS handshake", func(t *testing.T) {
		t.Parallel()
		address := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		out := newTestHTTP(t, HTTPOptions{URL: "https://" + address, Timeout: 10 * time.Second}).Send(t.Context(), testEffect())
		require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
		require.EqualError(t, out.Err, "no connection to "+address+" within 10s")
	})
	t.Run("after the request", func(t *testing.T) {
		t.Parallel()
		address := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		out := newTestHTTP(t, HTTPOptions{URL: "http://" + address, Timeout: 10 * time.Second}).Send(t.Context(), testEffect())
		require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
		require.EqualError(t, out.Err, "no answer from "+address+" within 10s")
	})
	t.Run("within the body of its answer", func(t *testing.T) {
		t.Parallel()
		address := listen(t, func(c net.Conn) {
			readRequest(t, c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of ")
			_, _ = io.Copy(io.Discard, c)
		})
		out := newTestHTTP(t, HTTPOptions{URL: "http://" + address, Timeout: 10 * time.Second}).Send(t.Context(), testEffect())
		require.Equal(t, ledger.VerdictDone, out.Verdict, "the status decides")
		require.Equal(t, "half of", out.Excerpt)
	})
}

func TestHTTPInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address := listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		cancel()
		_, _ = io.Copy(io.Discard, c)
	})
	out := newTestHTTP(t, HTTPOptions{URL: "http://" + address}).Send(ctx, testEffect())
	require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
	require.EqualError(t, out.Err, "no answer from "+address+": the attempt was interrupted")
}

func TestHTTPReceiverResetsAfterReadingTheRequest(t *testing.T) {
	t.Parallel()
	address := listen(t, func(c net.Conn) {
		readRequest(t, c)
		require.NoError(t, c.(*net.TCPConn).SetLinger(0))
	})
	out := newTestHTTP(t, HTTPOptions{URL: "http://" + address}).Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
	require.EqualError(t, out.Err, address+" reset the connection before its answer")
}

func TestHTTPAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":          "",
		"not HTTP":         "220 canary ESMTP\r\n\r\n",
		"no status":        "HTTP/1.1 canary OK\r\n\r\n",
		"a broken header":  "HTTP/1.1 200 OK\r\ncanary\r\n\r\n",
		"too many headers": "HTTP/1.1 200 OK\r\nX-Canary: " + strings.Repeat("canary", 50_000) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := listen(t, func(c net.Conn) {
				readRequest(t, c)
				_, _ = io.WriteString(c, answer)
			})
			out := newTestHTTP(t, HTTPOptions{URL: "http://" + address}).Send(t.Context(), testEffect())
			require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
			require.NotContains(t, fmt.Sprintf("%+v", out), "canary")
		})
	}
}

func TestHTTPEndlessBodyIsCutOff(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{MaxResponse: 10_000, URL: receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})})
	out := h.Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
	require.Equal(t, 500, out.Status)
	require.Equal(t, strings.Repeat("x", maxExcerpt), out.Excerpt)
}

func TestHTTPUnprintableBody(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("nul \x00, \xff\xfe, esc \x1b[2J\nend"))
	})})
	require.Equal(t, "nul , \ufffd\ufffd, esc [2J end", h.Send(t.Context(), testEffect()).Excerpt)
}

func TestHTTPCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	host := strings.TrimPrefix(server.URL, "https://")
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)

	out := newTestHTTP(t, HTTPOptions{URL: server.URL}).Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.ErrorContains(t, out.Err, "TLS handshake with "+host+": ")

	out = newTestHTTP(t, HTTPOptions{URL: "https://localhost:" + port, RootCAs: trusted}).Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.ErrorContains(t, out.Err, "not localhost")

	h := newTestHTTP(t, HTTPOptions{URL: server.URL, RootCAs: trusted})
	require.Equal(t, "HTTP/2.0", h.Send(t.Context(), testEffect()).Excerpt)
	bodiless := testEffect()
	bodiless.Request.Body = nil
	require.Equal(t, "HTTP/1.1", h.Send(t.Context(), bodiless).Excerpt)

	out = newTestHTTP(t, HTTPOptions{URL: "http://" + host}).Send(t.Context(), testEffect())
	require.Equal(t, 400, out.Status, "plain HTTP at a TLS port")
	out = newTestHTTP(t, HTTPOptions{URL: strings.Replace(receive(t, nil), "http:", "https:", 1)}).Send(t.Context(), testEffect())
	require.Equal(t, ledger.VerdictNotApplied, out.Verdict)
	require.ErrorContains(t, out.Err, "does not look like a TLS handshake")
}
