package destination

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// capture is a receiver that keeps the last request.
type capture struct {
	*http.Request

	body []byte
}

func (c *capture) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.Request = r
	c.body, _ = io.ReadAll(r.Body)
}

// port returns the port at which the request arrived.
func (c *capture) port() int {
	_, port, _ := strings.Cut(c.Host, ":")
	number, _ := strconv.Atoi(port)
	return number
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	var got capture
	h := newTestHTTP(t, HTTPOptions{
		URL: receive(t, got.ServeHTTP) + "/hooks?a=1", Headers: map[string]string{"x-team": "billing", "X-Kind": "static"},
		SecretHeaders: map[string]secret.Value{"X-Api-Key": secret.New("s3cret-key")},
		Bearer:        secret.New("b3arer"),
		Sign:          &Sign{StandardWebhooks: []secret.Value{secret.New("raw:one"), secret.New("raw:two")}},
	})
	h.now = func() time.Time { return time.Unix(1614265330, 0) }
	e := testEffect()
	e.Attempt = 3
	e.Request.Body = []byte("{\"exact\":\"bytes\\u0000 \xff\"}  ")
	e.Request.ContentType = "application/vnd.custom+json; charset=utf-8"
	e.Request.Headers = map[string][]string{"x-kind": {"rendered"}}

	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Equal(t, http.MethodPost, got.Method)
	require.Equal(t, "/hooks?a=1", got.RequestURI)
	require.Equal(t, e.Request.Body, got.body)
	for name, want := range map[string]string{
		"Authorization":          "Bearer b3arer",
		"Content-Type":           "application/vnd.custom+json; charset=utf-8",
		"Hooklatch-Attempt":      "3",
		"Hooklatch-Event-Id":     "evt_1",
		"Hooklatch-Event-Source": "stripe",
		"Hooklatch-Event-Type":   "invoice.paid",
		"Idempotency-Key":        e.IdempotencyKey,
		"User-Agent":             "hooklatch",
		"Webhook-Id":             e.IdempotencyKey,
		"Webhook-Timestamp":      "1614265330",
		"X-Api-Key":              "s3cret-key",
		"X-Kind":                 "rendered",
		"X-Team":                 "billing",
	} {
		require.Equal(t, []string{want}, got.Header.Values(name), name)
	}
	require.Len(t, strings.Fields(got.Header.Get("Webhook-Signature")), 2)
	require.Empty(t, got.Header.Get("Accept-Encoding"))
	require.Empty(t, got.Header.Get("Traceparent"))
}

func TestHTTPSendsWhatTheFirstClaimCommitted(t *testing.T) {
	t.Parallel()
	var got capture
	address := receive(t, got.ServeHTTP)
	before := newTestHTTP(t, HTTPOptions{URL: address + "/old", Method: http.MethodPut, Headers: map[string]string{"X-Version": "1"}})
	e := testEffect()
	e.Request.Body = nil
	first := before.FirstRequest(e)
	require.Equal(t, ledger.Request{Method: "PUT", URL: address + "/old", Headers: map[string][]string{"X-Version": {"1"}}}, first)
	e.Request.Method, e.Request.URL, e.Request.Headers = first.Method, first.URL, first.Headers

	// The configuration changes between two attempts.
	after := newTestHTTP(t, HTTPOptions{URL: address + "/new", Headers: map[string]string{"X-Version": "2", "X-New": "yes"}})
	require.Equal(t, ledger.VerdictDone, after.Send(t.Context(), e).Verdict)
	require.Equal(t, "PUT /old 1 ", fmt.Sprintf("%s %s %s %s", got.Method, got.RequestURI, got.Header.Get("X-Version"), got.Header.Get("X-New")))
	require.Zero(t, got.ContentLength)
	require.Equal(t, first, before.FirstRequest(nil))
}

func TestHTTPEventTextInHeaders(t *testing.T) {
	t.Parallel()
	var got capture
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, got.ServeHTTP)})
	e := testEffect()
	e.Event.EventID, e.EventType = "a b\r\nX-Evil: 1", "größe 100%"
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Equal(t, "a%20b%0D%0AX-Evil:%201", got.Header.Get("Hooklatch-Event-Id"))
	require.Equal(t, "gr%C3%B6%C3%9Fe%20100%25", got.Header.Get("Hooklatch-Event-Type"))

	e.Event, e.EventType = identity.EventRef{}, ""
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.NotContains(t, got.Header, "Hooklatch-Event-Id")
}

func TestHTTPCredentialsStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	var got capture
	own, other := receive(t, got.ServeHTTP), receive(t, got.ServeHTTP)
	h := newTestHTTP(t, HTTPOptions{
		URL: own, Basic: &Basic{User: "user", Password: secret.New("p4ssword")}, SecretHeaders: map[string]secret.Value{"X-Api-Key": secret.New("k3y")},
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	e := testEffect()
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	user, password, ok := got.BasicAuth()
	require.Equal(t, "user p4ssword true k3y", fmt.Sprint(user, " ", password, " ", ok, " ", got.Header.Get("X-Api-Key")))

	e.Request.URL = other
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Empty(t, got.Header.Get("Authorization")+got.Header.Get("X-Api-Key"))
	require.Equal(t, e.IdempotencyKey, got.Header.Get("Idempotency-Key"))
}

func TestHTTPRefusesRequestsItCannotSend(t *testing.T) {
	t.Parallel()
	h := newTestHTTP(t, HTTPOptions{
		URL:               receive(t, func(http.ResponseWriter, *http.Request) { t.Error("was sent") }),
		IdempotencyHeader: "X-Request-Id", Sign: &Sign{StandardWebhooks: []secret.Value{secret.New("raw:key")}},
	})
	header := func(name, value string) func(*ledger.Request) {
		return func(r *ledger.Request) { r.Headers = map[string][]string{name: {value}} }
	}
	for want, change := range map[string]func(*ledger.Request){
		"header X-A has a line break or control character":                              header("X-A", "1\r\nHost: evil"),
		"header X-B has a line break or control character":                              header("X-B", "nul\x00"),
		`header name "X C" is not valid`:                                                header("X C", "1"),
		`header name "" is not valid`:                                                   header("", "1"),
		"header Authorization is set by the destination; a request must not set it":     header("authorization", "Bearer x"),
		"header Host is set by the destination; a request must not set it":              header("HOST", "evil"),
		"header Content-Length is set by the destination; a request must not set it":    header("content-length", "0"),
		"header Hooklatch-Attempt is set by the destination; a request must not set it": header("Hooklatch-Attempt", "9"),
		"header Proxy-Connection is set by the destination; a request must not set it":  header("Proxy-Connection", "x"),
		"header Transfer-Encoding is set by the destination; a request must not set it": header("Transfer-Encoding", "chunked"),
		"header Traceparent is set by the destination; a request must not set it":       header("traceparent", "x"),
		"content type has a character headers cannot have":                              func(r *ledger.Request) { r.ContentType = "a/b\r\nX: 1" },
		"method is not one of POST, PUT, PATCH, DELETE, GET":                            func(r *ledger.Request) { r.Method = "POST /\r\nHTTP/1.1" },
		"url has a scheme other than http and https":                                    func(r *ledger.Request) { r.URL = "ftp://example.com" },
		"url is not valid":                func(r *ledger.Request) { r.URL = "http://exa mple.com/?token=canary" },
		"url contains a user or password": func(r *ledger.Request) { r.URL = "http://user:canary@example.com" },
	} {
		e := testEffect()
		change(&e.Request)
		out := h.Send(t.Context(), e)
		require.Equal(t, ledger.VerdictRefused, out.Verdict, want)
		require.EqualError(t, out.Err, want)
	}
	require.NoError(t, h.CheckHeader("X-Fine", "value"))
	require.Error(t, h.CheckHeader("x-request-id", "value"))
}

func TestHTTPKeepsSecretsToItself(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"bearer": "canary-bearer/1", "password": "canary-password", "header": "canary-header", "key": "canary-key-0123456789",
	}
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secrets["password"]))
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(len(r.Header.Values("X-Fail"))*300 + 200)
		for name, values := range r.Header {
			fmt.Fprintf(w, "%s: %q\n", name, values)
		}
		fmt.Fprintln(w, strings.ReplaceAll(r.Header.Get("Authorization"), "/", `\/`), secrets["key"])
	}
	common := HTTPOptions{
		URL:           receive(t, echo) + "/?token=canary-query",
		SecretHeaders: map[string]secret.Value{"X-Api-Key": secret.New(secrets["header"])},
		Sign:          &Sign{StandardWebhooks: []secret.Value{secret.New("raw:" + secrets["key"])}},
	}
	bearer, password := common, common
	bearer.Bearer = secret.New(secrets["bearer"])
	password.Basic = &Basic{User: "user", Password: secret.New(secrets["password"])}
	down := bearer
	down.URL = "http://" + closedAddress(t) + "/?token=canary-query"
	for _, o := range []HTTPOptions{bearer, password, down} {
		for _, fail := range []map[string][]string{nil, {"X-Fail": {"yes"}}} {
			h := newTestHTTP(t, o)
			e := testEffect()
			e.Request.Headers = fail
			out := h.Send(t.Context(), e)
			for _, text := range []string{
				out.Excerpt, fmt.Sprint(out.Err), fmt.Sprintf("%v %+v %#v", h, h, h), fmt.Sprintf("%+v", o.Bearer),
			} {
				require.NotContains(t, text, "canary")
				require.NotContains(t, text, basic)
			}
		}
	}
}

func TestNewHTTPSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*HTTPOptions){
		`http destination: Name is required`:                                                                                                                        func(o *HTTPOptions) { o.Name = "" },
		`http destination "app": has no url; give url, secret_url or url_file`:                                                                                      func(o *HTTPOptions) { o.URL = "" },
		`http destination "app": url: has a user or password; give them in separate fields`:                                                                         func(o *HTTPOptions) { o.URL = "https://user:canary@example.com" },
		`http destination "app": host "127.1" is not a valid address`:                                                                                               func(o *HTTPOptions) { o.URL = "http://127.1/" },
		`http destination "app": method: "HEAD" is not a method; allowed: POST, PUT, PATCH, DELETE, GET`:                                                            func(o *HTTPOptions) { o.Method = "HEAD" },
		`http destination "app": timeout: -1s is too short; it must be longer than 0s`:                                                                              func(o *HTTPOptions) { o.Timeout = -time.Second },
		`http destination "app": header Authorization is set by the destination; a request must not set it`:                                                         func(o *HTTPOptions) { o.Headers = map[string]string{"Authorization": "x"} },
		`http destination "app": idempotency_header: "Content-Length" is set by the destination itself`:                                                             func(o *HTTPOptions) { o.IdempotencyHeader = "content-length" },
		`http destination "app": bearer: has a character that no header may have, such as a line break`:                                                             func(o *HTTPOptions) { o.Bearer = secret.New("canary\n") },
		`http destination "app": sign.standard_webhooks[0]: secret 1 is not Base64 after whsec_; if the receiver takes the bytes as they are, write raw:THE-SECRET`: func(o *HTTPOptions) { o.Sign = &Sign{StandardWebhooks: []secret.Value{secret.New("whsec_?")}} },
		`http destination "app": basic: at most one of bearer and basic may be given`:                                                                               func(o *HTTPOptions) { o.Bearer, o.Basic = secret.New("a"), &Basic{User: "b"} },
	} {
		o := HTTPOptions{Name: "app", URL: "https://example.com"}
		change(&o)
		_, err := NewHTTP(o)
		require.EqualError(t, err, want)
	}
}

func TestHTTPSpan(t *testing.T) {
	t.Parallel()
	var got capture
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, got.ServeHTTP) + "/?token=canary", TracerProvider: provider, PropagateTrace: true})
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), testEffect()).Verdict)

	spans := exporter.GetSpans()
	require.Len(t, spans, 1)
	require.Equal(t, "POST app", spans[0].Name)
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", spans[0].SpanContext.TraceID(), spans[0].SpanContext.SpanID()), got.Header.Get("Traceparent"))
	require.NotContains(t, fmt.Sprintf("%+v", spans), "canary")
	require.Subset(t, spans[0].Attributes, []attribute.KeyValue{
		attribute.String("http.request.method", http.MethodPost),
		attribute.Int("http.response.status_code", http.StatusOK),
		attribute.String("server.address", "127.0.0.1"),
		attribute.Int("server.port", got.port()),
	})
}

func TestHTTPPropagatesTheTraceOfTheEvent(t *testing.T) {
	t.Parallel()
	var got capture
	h := newTestHTTP(t, HTTPOptions{URL: receive(t, got.ServeHTTP), PropagateTrace: true})
	e := testEffect()
	e.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict)
	require.Equal(t, e.Traceparent, got.Header.Get("Traceparent"))
}
