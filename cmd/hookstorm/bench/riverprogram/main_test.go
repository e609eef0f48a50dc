package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// installation is a running program with its receiver.
type installation struct {
	address string
	pool    *pgxpool.Pool

	mu       sync.Mutex
	received map[string]int // deliveries by body
}

func install(t *testing.T) *installation {
	t.Helper()
	i := &installation{pool: pgtest.New(t, pgtest.Empty()), received: map[string]int{}}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			i.mu.Lock()
			i.received[string(body)]++
			i.mu.Unlock()
		}
	}))
	t.Cleanup(receiver.Close)
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	i.address = free[0]
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, options{listen: i.address, databaseURL: pgtest.URL(t, i.pool), secret: load.Secret().Reveal(), receiverURL: receiver.URL})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return i.post("/readyz") == http.StatusMethodNotAllowed }, 2*time.Minute, 10*time.Millisecond)
	return i
}

// post returns the status of a request without a signature, or 0 without a response.
func (i *installation) post(path string) int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+i.address+path, "application/json", strings.NewReader(`{"id":"evt_1","type":"a"}`))
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// send sends 100 requests, about half of them duplicates.
func (i *installation) send(t *testing.T) {
	t.Helper()
	client, err := load.Dial(t.Context(), load.Options{Addresses: []string{i.address}, Connections: 4, Duplicates: 0.5})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Closed(t.Context(), 100)
	require.NoError(t, err)
}

// count returns the numbers of stored events, of completed jobs, and of bodies that arrived
// exactly once.
func (i *installation) count(t *testing.T) (events, completed, once int) {
	t.Helper()
	require.NoError(t, i.pool.QueryRow(t.Context(), `SELECT count(*) FROM processed`).Scan(&events))
	require.NoError(t, i.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&completed))
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.received {
		if n == 1 {
			once++
		}
	}
	return events, completed, once
}

func TestEachEventIsStoredAndDeliveredOnce(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.send(t)
	require.Eventually(t, func() bool {
		events, completed, once := i.count(t)
		return events > 10 && events < 100 && completed == events && once == events
	}, time.Minute, 20*time.Millisecond, "duplicates are stored and delivered once")
}

func TestAnUnsignedEventIsRefused(t *testing.T) {
	t.Parallel()
	i := install(t)
	require.Equal(t, http.StatusUnauthorized, i.post("/webhooks/"+load.Source))
	events, _, _ := i.count(t)
	require.Zero(t, events)
}

// A backlog is comparable only if none of it is delivered before the drain.
func TestAPausedProgramAcceptsAndDeliversNothing(t *testing.T) {
	t.Parallel()
	i := install(t)
	require.Equal(t, http.StatusOK, i.post("/pause"))
	i.send(t)
	require.Never(t, func() bool {
		_, completed, once := i.count(t)
		return completed+once > 0
	}, 10*fetchEvery, fetchEvery)
	events, _, _ := i.count(t)
	require.Greater(t, events, 10)
	require.Equal(t, http.StatusOK, i.post("/resume"))
	require.Eventually(t, func() bool {
		_, completed, once := i.count(t)
		return completed == events && once == events
	}, time.Minute, 20*time.Millisecond)
}
