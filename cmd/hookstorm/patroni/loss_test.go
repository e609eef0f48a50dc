package patroni_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// An asynchronous failover loses acknowledged events. For each source, package repair reports the
// time span in which events are missing. If a sender delivers them again, they are not duplicates.
func TestWhatAnAsynchronousFailoverLosesIsNamed(t *testing.T) {
	t.Parallel()
	c := start(t, false)
	config, err := stage.Config(c.Hosts("postgres"))
	require.NoError(t, err)
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, stage.Migrate(t.Context(), pool))
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.WithoutCancel(t.Context()))) })

	const events = 40
	sources := []string{"github", "stripe"}
	// accept stores a set of events, and counts the new ones. Their ids begin with the text in
	// when.
	accept := func(when string) (accepted int, err error) {
		for i := range events {
			id := fmt.Sprintf("%s_%d", when, i)
			got, err := box.Accept(t.Context(), outbox.Delivery{
				Source: identity.Source(sources[i%2]), Provider: "hmac", ContentType: "application/json", Body: fmt.Appendf(nil, `{"id":%q}`, id),
				Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "t"}},
			})
			if err != nil {
				return accepted, err
			}
			accepted += got.New()
		}
		return accepted, nil
	}
	accepted, err := accept("kept")
	require.NoError(t, err)
	require.Equal(t, events, accepted)
	require.Eventually(t, func() bool {
		var behind int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_replication WHERE flush_lsn < pg_current_wal_lsn()`).Scan(&behind)
		return err == nil && behind == 0
	}, time.Minute, 50*time.Millisecond, "both standbys have everything")
	var began, ended time.Time
	require.NoError(t, c.FailBehind(t.Context(), func() (err error) {
		began = time.Now()
		_, err = accept("lost")
		ended = time.Now()
		return err
	}))
	pool.Reset()
	var left int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.processed_events`).Scan(&left))
	require.Equal(t, events, left, "the standbys lacked the events that were accepted last, and only those")

	state, err := box.Repair().State(t.Context())
	require.NoError(t, err)
	require.True(t, state.Withheld, "the promotion waits for an operator")
	found, err := box.Repair().PreviewRestore(t.Context(), began, sources)
	require.NoError(t, err)
	require.Len(t, found.Missing, len(sources))
	for _, m := range found.Missing {
		require.Contains(t, sources, string(m.Source))
		require.False(t, m.From.After(began), "the first lost event is in the span")
		require.True(t, m.Until.After(ended), "the last lost event is in the span")
	}
	_, err = box.Repair().Restored(t.Context(), began, sources, ledger.Operator{Who: "hookstorm", Via: "test", Reason: "an asynchronous failover"}, nil)
	require.NoError(t, err)
	accepted, err = accept("lost")
	require.NoError(t, err)
	require.Equal(t, events, accepted, "a lost event is new when it is delivered again")
	accepted, err = accept("kept")
	require.NoError(t, err)
	require.Zero(t, accepted, "a kept event is a duplicate")
}
