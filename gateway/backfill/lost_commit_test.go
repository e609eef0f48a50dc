package backfill

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// newFaulty returns a database, and a fault that can make the COMMITs of its passes fail. If
// acquired is not nil, it is called before each use of a connection in the passes' pool.
func newFaulty(t *testing.T, acquired func()) (database, *fault.Fault) {
	t.Helper()
	pool := pgtest.New(t)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	if acquired != nil {
		config.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) {
			acquired()
			return true, nil
		}
	}
	f := new(fault.Fault)
	f.Apply(config)
	faulty, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(faulty.Close)
	return database{pool: pool, outbox: newOutbox(t, pool), passes: newOutbox(t, faulty)}, f
}

// A pass begins once, ends once and is counted once, even if one of its COMMITs gets no response.
// If a gateway starts during the pass, the list is due again after it.
func TestEachCommitOfAPassMayBeLost(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		for name, c := range map[string]struct {
			provider, endpoint, event string
			status, asked             int
		}{
			"read":        {provider: "stripe", endpoint: "we_1", event: "invoice.paid"},
			"unreadable":  {provider: "stripe", endpoint: "we_1", event: "invoice.paid", status: http.StatusForbidden},
			"redelivered": {provider: "github", endpoint: "repos/acme/shop/hooks/1", event: "push", asked: 1},
		} {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				db, f := newFaulty(t, nil)
				w := newWorldOn(t, db, c.provider, c.provider, c.endpoint)
				w.source.Settings.Every = time.Hour
				started := false
				w.refuse = func(out http.ResponseWriter, _ *http.Request) bool {
					if !started {
						started = true
						w.hurry()
					}
					if c.status != 0 {
						out.WriteHeader(c.status)
					}
					return c.status != 0
				}
				for lost := 0; ; lost++ {
					require.Less(t, lost, 50, "a pass has fewer COMMITs")
					w.happen(1, c.event, never)
					before := f.Count()
					f.ArmAfter(lost, mode, 1)
					started = false
					ran := w.turn()
					f.Arm("", 0)
					runs, err := w.outbox.Coverage().Runs(t.Context(), identitySource(w.source.Name), 100)
					require.NoError(t, err)
					require.Len(t, runs, lost+2, "a row for each pass, after COMMIT %d was lost", lost)
					for _, r := range runs {
						require.False(t, r.EndedAt.IsZero(), "pass %d has not ended", r.ID)
					}
					failures, recovered := 0, 1
					if c.status != 0 {
						failures, recovered = lost+1, 0
					} else if c.asked != 0 {
						recovered = min(lost, 1) // the next pass finds that the event has arrived
					}
					require.Equal(t, c.status != 0, ran.Error != "")
					require.EqualValues(t, recovered, ran.Recovered)
					require.EqualValues(t, c.asked, ran.Asked)
					require.Zero(t, w.count("SELECT count(*) FROM hooklatch.redeliveries WHERE source = $1 AND tries <> 1"),
						"each redelivery was requested once, after COMMIT %d was lost", lost)
					require.Equal(t, failures, w.state().Failures)
					require.EqualValues(t, 1, w.count("SELECT count(*) FROM hooklatch.coverage WHERE source = $1 AND next_at <= now() AND lease_until < now()"),
						"the list is due, after COMMIT %d was lost", lost)
					if f.Count() == before {
						require.Greater(t, lost, 2, "a pass has at least the COMMITs of its begin, its run and its end")
						return
					}
				}
			})
		}
	}
}

// The COMMIT that begins a pass is lost and rolled back. Another process begins a pass before
// the first process repeats its transaction. If both passes had the same number, both could write.
func TestAPassWhoseBeginIsLostLeavesTheListToAnother(t *testing.T) {
	t.Parallel()
	var meanwhile atomic.Pointer[func()]
	db, f := newFaulty(t, func() {
		if other := meanwhile.Load(); other != nil {
			(*other)()
		}
	})
	w := newWorldOn(t, db, "stripe", "stripe", "we_1")
	w.hurry()
	other := false
	begin := func() {
		if f.Count() == 1 && !other {
			other = true
			p, err := w.outbox.Coverage().Begin(t.Context(), w.source.stream(""), false, time.Minute, 0)
			require.NoError(t, err)
			require.NotNil(t, p)
		}
	}
	meanwhile.Store(&begin)
	f.Arm(fault.LoseRequest, 1)
	p, err := w.passes.Coverage().Begin(t.Context(), w.source.stream(""), false, time.Minute, 0)
	require.NoError(t, err)
	require.True(t, other)
	require.Nil(t, p, "the other process's pass holds the list")
}

// A pass whose process is lost never records its end. The next pass over the list records it.
func TestTheRunOfALostProcessEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(1, "invoice.paid", never)
	_, err := w.pool.Exec(t.Context(), `
		INSERT INTO hooklatch.backfill_runs (source, since, until, mode) VALUES ('stripe', now(), current_timestamp, 'auto');
		INSERT INTO hooklatch.backfill_runs (source, stream, since, until, mode) VALUES ('stripe', 'another account', now(), current_timestamp, 'auto')`)
	require.NoError(t, err)
	w.turn()
	runs, err := w.outbox.Coverage().Runs(t.Context(), "stripe", 3)
	require.NoError(t, err)
	require.EqualValues(t, 1, runs[0].Recovered)
	require.Equal(t, "has not ended: it is still running, or its process was lost", runs[1].Outcome(), "a run of another list")
	require.Equal(t, "its process was lost before the pass ended", runs[2].Outcome())
	require.False(t, runs[2].EndedAt.IsZero())
}
