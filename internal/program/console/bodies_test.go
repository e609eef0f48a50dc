package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// slowReader is a client that does not read a response until read is closed.
type slowReader struct {
	*httptest.ResponseRecorder

	begun, read chan struct{}
	once        sync.Once
}

// Write implements http.ResponseWriter.
func (s *slowReader) Write(p []byte) (int, error) {
	s.once.Do(func() { s.begun <- struct{}{} })
	<-s.read
	return s.ResponseRecorder.Write(p)
}

// A download keeps its body in memory until the client has read it. So each user has one download
// at a time, and all users together have a limited number. Pages do not count.
func TestADownloadWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)
	downloads := []string{"/events/stripe/evt_1/raw", "/effects/" + key + "/body", "/api/events/stripe/evt_1/raw", "/api/effects/" + key + "/body"}
	release := b.console.HoldDownloads(signin.Person{Name: "vera"})
	for _, path := range downloads {
		got := b.as(signin.Viewer, path)
		require.Equal(t, http.StatusTooManyRequests, got.Code, path)
		require.Contains(t, got.Body.String(), "Another of your downloads is running")
		require.Equal(t, "1", got.Header().Get("Retry-After"))
		require.Equal(t, http.StatusOK, b.get(path).Code, "another user's download")
	}
	require.Equal(t, http.StatusOK, b.as(signin.Viewer, "/events/stripe/evt_1").Code)
	release()

	release = b.console.HoldBodies(true)
	got := b.as(signin.Viewer, downloads[0])
	require.Equal(t, http.StatusTooManyRequests, got.Code)
	require.Contains(t, got.Body.String(), "Too many downloads are running")
	require.Equal(t, http.StatusOK, b.as(signin.Viewer, "/effects/"+key).Code)
	release()
	for _, path := range downloads {
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path).Code, path)
	}
}

// While too many bodies are in memory, pages with a body wait, and pages without a body do not. A
// client that reads slowly keeps no page waiting, because the body is no longer needed.
func TestPagesShareTheMemoryForBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)
	withBody := []string{"/events/stripe/evt_1", "/effects/" + key, "/api/events/stripe/evt_1", "/api/effects/" + key, "/events/stripe/evt_1/raw", "/effects/" + key + "/body"}
	release := b.console.HoldBodies(false)
	for _, path := range withBody[:4] { // a download has a place of its own
		given := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		gone, cancel := context.WithCancel(given.Context())
		done := make(chan int)
		go func() { done <- b.answer(given.WithContext(gone)).Code }()
		require.Equal(t, http.StatusOK, b.get("/events").Code)
		cancel()
		require.NotEqual(t, http.StatusOK, <-done, path)
	}
	for _, path := range append(withBody[4:], "/events/stripe/evt_1/replay") {
		require.Equal(t, http.StatusOK, b.get(path).Code, path)
	}
	got := b.get(withBody[0])
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
	require.Contains(t, got.Body.String(), "Too many bodies are being shown")
	require.NotContains(t, got.Body.String(), "database is too slow")
	release()

	begun, read := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range 20 {
		for _, path := range withBody[:4] {
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			r.SetBasicAuth("reader-"+strconv.Itoa(i), "")
			all.Go(func() {
				b.ServeHTTP(&slowReader{ResponseRecorder: httptest.NewRecorder(), begun: begun, read: read}, r)
			})
		}
	}
	for range 20 * 4 {
		<-begun
	}
	require.Zero(t, b.console.Bodies())
	for _, path := range withBody {
		require.Equal(t, http.StatusOK, b.get(path).Code, path)
	}
	close(read)
	all.Wait()
}
