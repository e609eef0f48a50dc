package worker

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// A worker starts, probes a failed destination and resumes it while operators' reads use all
// connections of their pool.
func TestOperatorsReadsHoldUpNoProbe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read, err := pgxpool.New(t.Context(), pgtest.URL(t, b.pool)+"&pool_max_conns=1")
	require.NoError(t, err)
	t.Cleanup(read.Close)
	held, err := read.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(held.Release)
	b.opts.Outbox, err = outbox.New(outbox.Options{Pool: b.pool, ReadPool: read, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.opts.Outbox.Stop(context.Background())) })
	var healthy atomic.Bool
	b.addHTTP(t, "down", func(w http.ResponseWriter, _ *http.Request) {
		if !healthy.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}, func(d *DestinationOptions) {
		d.Breaker = lane.Breaker{Failures: 1, Probe: 10 * time.Millisecond, MaxProbe: 50 * time.Millisecond}
	})
	w := b.worker(t)
	b.start(t, w)
	b.take(t, incoming{id: "evt_1", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state <> 'closed'`)
	healthy.Store(true)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state = 'closed'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'down' AND state = 'done'`)
}
