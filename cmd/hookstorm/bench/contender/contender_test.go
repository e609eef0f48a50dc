package contender_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// serve starts a server and returns its address.
func serve(t *testing.T, databaseURL string) string {
	t.Helper()
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- contender.Serve(ctx, contender.Options{Listen: free[0], DatabaseURL: secret.New(databaseURL), Logger: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.Eventually(t, func() bool {
		answer, err := client.Get("http://" + free[0] + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 2*time.Minute, 10*time.Millisecond)
	return free[0]
}

func TestNaiveStoresEachEventOnceWithItsJob(t *testing.T) {
	t.Parallel()
	for name, withoutGIN := range map[string]bool{"as River migrates": false, "without GIN indexes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t, pgtest.Empty())
			require.NoError(t, contender.Prepare(t.Context(), pool, withoutGIN))
			address := serve(t, pgtest.URL(t, pool))
			client, err := load.Dial(t.Context(), load.Options{Addresses: []string{address}, Connections: 4, Duplicates: 0.5})
			require.NoError(t, err)
			defer client.Close()
			_, err = client.Closed(t.Context(), 100)
			require.NoError(t, err)

			var events, jobs, payload, gin int
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), min(length(payload)) FROM webhook_events`).Scan(&events, &payload))
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'process_event'`).Scan(&jobs))
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%USING gin%'`).Scan(&gin))
			require.Equal(t, events, jobs)
			require.Equal(t, load.DefaultSize, payload)
			require.Greater(t, events, 10)
			require.Less(t, events, 100, "duplicates are stored once")
			require.Equal(t, !withoutGIN, gin == 2)
		})
	}
}

func TestLimitVerifies(t *testing.T) {
	t.Parallel()
	address := serve(t, "")
	client, err := load.Dial(t.Context(), load.Options{Addresses: []string{address}, Connections: 2})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Closed(t.Context(), 10)
	require.NoError(t, err)

	unsigned := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := unsigned.Post("http://"+address+"/webhooks/"+load.Source, "application/json", strings.NewReader(`{"id":"evt_1","type":"a"}`))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}
