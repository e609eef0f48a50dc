package past_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// A killed process may leave days that it created. The number of days stays limited.
func TestNoMoreDaysAreMadeThanLieThereUndeleted(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA torture")
	require.NoError(t, err)
	require.NoError(t, past.Prepare(t.Context(), pool))

	_, err = pool.Exec(t.Context(), "SELECT torture.make_past() FROM generate_series(1, 20)")
	require.NoError(t, err)
	var days int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(DISTINCT received_at) FROM hooklatch.processed_events WHERE source = 'past'").Scan(&days))
	require.Equal(t, 8, days)
}

// A run that ended early, at its time limit or after a fault, deleted the effects of the past but
// not their versions. Retention derives the age of the oldest version from the oldest effect.
func TestNothingIsLeftOfThePastWhereARunEndedAfterItsEffects(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA torture")
	require.NoError(t, err)
	require.NoError(t, past.Prepare(t.Context(), pool))
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })

	_, err = pool.Exec(t.Context(), "SELECT torture.make_past(), torture.make_past()")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "DELETE FROM hooklatch.effects")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, past.New(pool, box.Retention()).End(ctx, ledger.Operator{Who: "keeper", Via: "test"}))
}

// An interrupted retention run deleted an event after it had checked the kept events, so the
// event's row in events_kept remains. No event of the past is left whose deletion would start
// another check.
func TestNothingIsLeftOfThePastWhereAnEventWentLast(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA torture")
	require.NoError(t, err)
	require.NoError(t, past.Prepare(t.Context(), pool))
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	_, err = box.Accept(t.Context(), outbox.Delivery{
		Source: "stripe", Provider: "stripe", Body: []byte(`{}`), Events: []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
	})
	require.NoError(t, err)
	_, err = box.Retention().Run(t.Context(), retention.Order{})
	require.NoError(t, err, "retention has recorded the source")

	_, err = pool.Exec(t.Context(), "INSERT INTO hooklatch.events_kept VALUES (41)")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, past.New(pool, box.Retention()).End(ctx, ledger.Operator{Who: "keeper", Via: "test"}))
}

// Each crash of the server skips numbers of the sequence of days. So a long run with many crashes
// used to reach days that retention does not delete yet.
func TestThePastStaysOlderThanEveryRetention(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA torture")
	require.NoError(t, err)
	require.NoError(t, past.Prepare(t.Context(), pool))
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })

	// make_past creates the last two days before the sequence starts over, and the first two after
	// that.
	_, err = pool.Exec(t.Context(), "SELECT nextval('torture.past_day') FROM generate_series(1, 999)")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "SELECT torture.make_past() FROM generate_series(1, 4)")
	require.NoError(t, err)
	var young int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE source = 'past' AND received_at > now() - interval '450 days'").Scan(&young))
	require.Zero(t, young)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, past.New(pool, box.Retention()).End(ctx, ledger.Operator{Who: "keeper", Via: "test"}))
}
