package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
)

// dial opens a raw connection to the gateway; a test that hangs on it fails after two
// minutes.
func (b *testBundle) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", b.gateway.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

// statusOf reads one response from the connection.
func statusOf(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response
}

// drip writes text repeatedly, one byte at each tick, until the peer closes the connection.
func drip(conn net.Conn, text string, each time.Duration) {
	tick := time.NewTicker(each)
	defer tick.Stop()
	for i := 0; ; i++ {
		<-tick.C
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
	}
}

func TestSlowHeaderIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.ReadHeaderTimeout = 100 * time.Millisecond })
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n")
	go drip(conn, "X-Slow: 1\r\n", 5*time.Millisecond)
	// Sending every byte in time does not help: the limit applies to the complete header.
	answered, err := io.ReadAll(conn)
	if err != nil {
		requireNoTimeout(t, err)
	}
	if len(answered) > 0 { // net/http treats a partial line without a colon as a bad header
		require.Contains(t, string(answered), "400 Bad Request")
	}
}

func requireNoTimeout(t *testing.T, err error) {
	t.Helper()
	if timeout, ok := errors.AsType[net.Error](err); ok {
		require.False(t, timeout.Timeout(), "the gateway must close the connection")
	}
}

func TestSlowBodyIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.ReadTimeout = 150 * time.Millisecond })
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n")
	go drip(conn, "x", 5*time.Millisecond)
	response := statusOf(t, bufio.NewReader(conn))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.True(t, response.Close)
	require.Len(t, b.logs.lines(t, "delivery refused"), 1)
	require.Empty(t, b.accepter.all())
}

func TestBodyShorterThanItsContentLength(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n"+strings.Repeat("x", 200)) // at the required rate, the rest has two minutes
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	response := statusOf(t, bufio.NewReader(conn))
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.True(t, response.Close)
	require.Empty(t, b.accepter.all())
}

// A request refused because of its header gets its response before the body: not one byte of
// the body is sent.
func TestAHeaderIsRefusedBeforeItsBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"too large":        {"POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n", http.StatusRequestEntityTooLarge},
		"packed":           {"POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n", http.StatusUnsupportedMediaType},
		"other method":     {"PUT /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", http.StatusMethodNotAllowed},
		"no such source":   {"POST /webhooks/nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", http.StatusNotFound},
		"chunked encoding": {"POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n", http.StatusUnsupportedMediaType},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			conn := b.dial(t)
			write(t, conn, c.head)
			response := statusOf(t, bufio.NewReader(conn))
			require.Equal(t, c.status, response.StatusCode)
			require.True(t, response.Close)
		})
	}
}

func TestEndlessChunkedBodyIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxBody = 64 << 10 })
	conn := b.dial(t)
	chunk := "1000\r\n" + strings.Repeat("x", 4096) + "\r\n"
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk)
	go func() {
		for {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return
			}
		}
	}()
	response := statusOf(t, bufio.NewReader(conn))
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	require.True(t, response.Close)
	require.Empty(t, b.accepter.all())
}

func TestBodyOfExactlyTheCap(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxBody = 100 })
	body := fmt.Sprintf(`{"id":"a","type":%q}`, strings.Repeat("x", 100-len(`{"id":"a","type":""}`)))
	require.Len(t, body, 100)
	require.Equal(t, http.StatusOK, b.post(t, "orders", body).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "orders", body+" ").status)
}

func TestMaxBodyOfProviderAndSource(t *testing.T) {
	t.Parallel()
	large, small := signer(), signer()
	large.MaxBody, small.MaxBody = 2000, 10
	b := setup(t, func(o *gateway.Options) {
		o.MaxBody = 100
		own := source("own", large)
		own.MaxBody = 50
		o.Sources = []gateway.Source{source("large", large), source("small", small), own}
	})
	body := func(n int) string { return `{"id":"a","type":"x"}` + strings.Repeat(" ", n-21) }
	require.Equal(t, http.StatusOK, b.post(t, "large", body(2000)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "large", body(2001)).status)
	require.Equal(t, http.StatusOK, b.post(t, "small", body(100)).status, "a provider can raise the limit, but not lower it")
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "own", body(51)).status)
}

// A form may be larger than other bodies, up to MaxForm: a sender limits the content of a form,
// and the encoded form is longer.
func TestMaxBodyOfAForm(t *testing.T) {
	t.Parallel()
	large := signer()
	large.MaxBody, large.MaxForm = 200, 600
	b := setup(t, func(o *gateway.Options) {
		o.MaxBody = 100
		own := source("own", large)
		own.MaxBody = 50
		o.Sources = []gateway.Source{source("large", large), own}
	})
	body := func(n int) string { return `{"id":"a","type":"x"}` + strings.Repeat(" ", n-21) }
	form := func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	require.Equal(t, http.StatusOK, b.post(t, "large", body(600), form).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "large", body(601), form).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "large", body(201)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(t, "own", body(51), form).status, "the source's own limit applies to forms too")
}

// Transfer-Encoding overrides Content-Length (RFC 9112, 6.3). The gateway closes the connection.
// It never reads the bytes after the body, which a proxy might have taken for the next request.
func TestContentLengthAndChunkedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	conn := b.dial(t)
	body := `{"id":"a","type":"x"}`
	smuggled := "GET /webhooks/orders HTTP/1.1\r\nHost: x\r\n\r\n"
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Signature: "+sign(testSecret, []byte(body))+
		"\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"+
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)+smuggled)
	from := bufio.NewReader(conn)
	response := statusOf(t, from)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.True(t, response.Close)
	_, err := http.ReadResponse(from, nil)
	require.Error(t, err, "there is no second response")
	requireNoTimeout(t, err)
	require.Len(t, b.accepter.all(), 1)
	require.Equal(t, body, string(b.accepter.all()[0].Body))
}

func TestHeadersOf10MB(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n")
	go func() {
		line := "X-Long: " + strings.Repeat("x", 1<<16) + "\r\n"
		for range 160 {
			if _, err := io.WriteString(conn, line); err != nil {
				return
			}
		}
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil { // the response may be lost in the reset
		requireNoTimeout(t, err)
		return
	}
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
}

// A full gateway responds before it reads the body, even if the body never arrives.
func TestOverload(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxInFlight = 1 })
	entered, release := make(chan struct{}), make(chan struct{})
	b.accepter.before = func(context.Context, outbox.Delivery) error {
		close(entered)
		<-release
		return nil
	}
	first := make(chan answer, 1)
	go func() { first <- b.post(t, "orders", `{"id":"a","type":"x"}`) }()
	<-entered

	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	response := statusOf(t, bufio.NewReader(conn))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.True(t, response.Close)
	require.Equal(t, http.StatusNotFound, b.post(t, "nobody", `{}`).status, "a request that needs no slot is still answered")

	b.accepter.before = nil
	close(release)
	require.Equal(t, http.StatusOK, (<-first).status)
	require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"b","type":"x"}`).status, "the slot is free again")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*gateway.Options)
		want  string
	}{
		{"no accepter", func(o *gateway.Options) { o.Accepter = nil }, "Accepter is required"},
		{"negative cap", func(o *gateway.Options) { o.MaxBody = -1 }, "max_body: -1 is too small; it must be at least 1"},
		{"answer cannot be written", func(o *gateway.Options) { o.ReadTimeout, o.WriteTimeout = 9*time.Second, 9*time.Second }, "write_timeout: 9s leaves no time to answer a slow body; it must be longer than read_timeout, 9s"},
		{"name", func(o *gateway.Options) { o.Sources[0].Name = "Or/ders" }, `source name "Or/ders"`},
		{"two of a name", func(o *gateway.Options) { o.Sources = append(o.Sources, o.Sources[0]) }, `source "orders" is configured twice`},
		{"no provider", func(o *gateway.Options) { o.Sources[0].Provider = nil }, "needs a provider"},
		{"half a provider", func(o *gateway.Options) { o.Sources[0].Provider = &provider.Provider{} }, "needs a provider"},
		{"no secret", func(o *gateway.Options) { o.Sources[0].Secrets = nil }, "no secret"},
		{"empty secret", func(o *gateway.Options) { o.Sources[0].Secrets = append(o.Sources[0].Secrets, noSecret()) }, `source "orders", secret 3: is empty`},
		{"window without time", func(o *gateway.Options) {
			o.Sources[0].Secrets[1].NotBefore, o.Sources[0].Secrets[1].NotAfter = testNow, testNow
		}, `source "orders", secret 2: is never accepted`},
		{"replay guard", func(o *gateway.Options) { o.Sources[0].ReplayGuard = "maybe" }, `ReplayGuard "maybe" must be one of off, flag, hold, refuse`},
		{"content window", func(o *gateway.Options) { o.Sources[0].ContentWindow = -time.Second }, "ContentWindow cannot be less than zero"},
		{"unusable secret", func(o *gateway.Options) { o.Sources[0].Provider.CheckSecret = refuseSecret }, `source "orders", secret 1: must be base64`},
		{"public url", func(o *gateway.Options) { o.PublicURL = mustURL("hooks.example.com/x") }, "scheme http or https"},
		{"public url with query", func(o *gateway.Options) { o.Sources[0].PublicURL = mustURL("https://a/b?c=d") }, "no user, query or fragment"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			opts := gateway.Options{Accepter: &memory{}, Sources: []gateway.Source{source("orders", signer())}}
			test.spoil(&opts)
			_, err := gateway.New(opts)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), testSecret)
		})
	}
}
