package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// held makes the first call of Accept close entered and wait until release is called.
func (b *testBundle) held(t *testing.T) (entered chan struct{}, release func()) {
	t.Helper()
	entered, released := make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	var first atomic.Bool
	b.accepter.before = func(context.Context, outbox.Delivery) error {
		if first.CompareAndSwap(false, true) {
			close(entered)
			<-released
		}
		return nil
	}
	return entered, release
}

func TestDrain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	entered, release := b.held(t)
	waiting := b.dial(t) // opened before the drain, with half a header sent
	write(t, waiting, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n")
	inFlight := make(chan answer, 1)
	go func() { inFlight <- b.post(t, "orders", `{"id":"a","type":"x"}`) }()
	<-entered

	stopped := make(chan error, 1)
	go func() { stopped <- b.gateway.Stop(context.WithoutCancel(t.Context())) }()
	requireDraining(t, b)

	write(t, waiting, "Content-Length: 2\r\n\r\n{}")
	response := statusOf(t, bufio.NewReader(waiting))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.True(t, response.Close)

	select {
	case <-stopped:
		require.Fail(t, "Stop returned with a delivery in flight")
	default:
	}
	release()
	require.Equal(t, http.StatusOK, (<-inFlight).status, "the delivery in flight got its response")
	require.NoError(t, <-stopped)
	require.NoError(t, b.gateway.Stop(t.Context()), "Stop may be called again")
	_, err := http.Get(b.url + "/webhooks/orders") //nolint:bodyclose // no response arrives
	require.Error(t, err, "the listener is closed")
	require.ErrorContains(t, b.gateway.Start(), "stopped")
}

// requireDraining waits until Stop has begun and Handler refuses requests.
func requireDraining(t *testing.T, b *testBundle) {
	t.Helper()
	require.Eventually(t, func() bool {
		recorder := httptest.NewRecorder()
		b.gateway.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/webhooks/orders", strings.NewReader("{}")))
		return recorder.Code == http.StatusServiceUnavailable && recorder.Header().Get("Connection") == "close"
	}, 2*time.Minute, time.Millisecond)
}

func TestStopThatCannotWait(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	entered, release := b.held(t)
	failed := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/webhooks/orders", strings.NewReader(`{"id":"a"}`))
		if err == nil {
			r.Header.Set("X-Signature", sign(testSecret, []byte(`{"id":"a"}`)))
			_, err = b.client.Do(r) //nolint:bodyclose // no response arrives
		}
		failed <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.gateway.Stop(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "deliveries in flight: 1")
	require.Error(t, <-failed, "the connection was cut")
	release()
	require.NoError(t, b.gateway.Stop(t.Context()), "a later Stop waits for the rest")
}

// A client that does not read the response to its request keeps its connection open. Such a client
// delays a stop only briefly, and does not make the stop fail.
func TestAConnectionThatDoesNotCloseIsNoErrorOfAStop(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 16*mib) // more than the sockets' buffers
	echoing := signer()
	echoing.Handshake = func(context.Context, *provider.Request, []secret.Value, time.Time) (*provider.Answer, error) {
		return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: large}, nil
	}
	b := setup(t, func(o *gateway.Options) {
		o.WriteTimeout = time.Hour
		o.Sources = []gateway.Source{source("orders", echoing)}
	})
	conn := b.dial(t)
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4*kib))
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	require.Eventually(t, func() bool {
		underway, ended := b.gateway.Progress()
		return underway == 0 && ended == 1
	}, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, b.gateway.Stop(ctx))
	require.NoError(t, ctx.Err(), "the stop does not wait for the connection")
}

// Stop also waits for deliveries through Handler, on the caller's own server.
func TestStopWaitsForHandler(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	entered, release := b.held(t)
	done := make(chan int, 1)
	go func() {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/webhooks/orders", strings.NewReader(`{"id":"a"}`))
		r.Header.Set("X-Signature", sign(testSecret, []byte(`{"id":"a"}`)))
		b.gateway.Handler().ServeHTTP(recorder, r)
		done <- recorder.Code
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- b.gateway.Stop(context.WithoutCancel(t.Context())) }()
	requireDraining(t, b)
	select {
	case <-stopped:
		require.Fail(t, "Stop returned with a delivery in flight")
	default:
	}
	release()
	require.Equal(t, http.StatusOK, <-done)
	require.NoError(t, <-stopped)
}

func TestStartTwiceAndOnATakenAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	require.ErrorContains(t, b.gateway.Start(), "already started")
	taken := b.gateway.Addr().String()
	other, err := gateway.New(gateway.Options{Accepter: b.accepter, Listen: taken})
	require.NoError(t, err)
	require.Nil(t, other.Addr())
	err = other.Start()
	require.ErrorContains(t, err, taken)
	require.ErrorContains(t, err, "in use")
	require.NoError(t, other.Stop(t.Context()), "Stop without Start")
}

func TestSetSources(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	entered, release := b.held(t)
	old := make(chan answer, 1)
	go func() { old <- b.post(t, "orders", `{"id":"a","type":"x"}`) }()
	<-entered

	require.NoError(t, b.gateway.SetSources([]gateway.Source{source("payments", signer())}))
	require.Equal(t, http.StatusNotFound, b.post(t, "orders", `{"id":"b","type":"x"}`).status)
	require.Equal(t, http.StatusOK, b.post(t, "payments", `{"id":"b","type":"x"}`).status)

	bad := []gateway.Source{source("refunds", signer()), source("refunds", signer())}
	require.Error(t, b.gateway.SetSources(bad))
	require.Equal(t, http.StatusNotFound, b.post(t, "refunds", `{"id":"b","type":"x"}`).status)
	require.Equal(t, http.StatusOK, b.post(t, "payments", `{"id":"c","type":"x"}`).status, "an invalid set leaves the old sources")

	release()
	require.Equal(t, http.StatusOK, (<-old).status, "a delivery in flight keeps its sources")
}

func TestSetSourcesUnderTraffic(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var traffic sync.WaitGroup
	for range 4 {
		traffic.Go(func() {
			for range 50 {
				b.post(t, "orders", `{"id":"a","type":"x"}`)
			}
		})
	}
	for range 50 {
		require.NoError(t, b.gateway.SetSources([]gateway.Source{source("orders", signer())}))
	}
	traffic.Wait()
	require.Len(t, b.accepter.all(), 200, "every delivery found its source")
}

// Stop does not wait for a body that is still arriving: its sender gets a 503 in time, and Stop
// succeeds.
func TestABodyThatStillArrivesDoesNotFailTheDrain(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("x", 256<<10) // large enough that the required rate does not cut the body off
	for name, request := range map[string]struct{ header, body string }{
		"with a length": {"Content-Length: 1000000\r\n\r\n", chunk},
		"chunked":       {"Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)},
		"continued":     {"Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", chunk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			conn := b.dial(t)
			answers := bufio.NewReader(conn)
			write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n"+request.header+request.body) // together: a body without any byte is cut off after two seconds
			if name == "continued" {
				line, err := answers.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
				_, err = answers.ReadString('\n')
				require.NoError(t, err)
			}
			require.Eventually(t, func() bool { return b.counts(t, "hooklatch.inflight")[""] == 1 }, 2*time.Minute, time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- b.gateway.Stop(early{ctx, time.Now().Add(2 * time.Second)}) }()
			response := statusOf(t, answers)
			require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
			require.NotEmpty(t, response.Header.Get("Retry-After"))
			require.True(t, response.Close)
			require.NoError(t, <-stopped)
		})
	}
}

// early is a context that reports an earlier deadline than its real one, so that a busy machine
// does not fail the test.
type early struct {
	context.Context

	end time.Time
}

func (e early) Deadline() (time.Time, bool) { return e.end, true }
