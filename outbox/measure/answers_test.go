package measure_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// fill creates n effects of a destination in the given state. Their last attempts were the given
// time ago.
func fill(t *testing.T, pool *pgxpool.Pool, n int, destination string, state ledger.EffectState, status any, said, ago string) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "SET session_replication_role = replica")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO hooklatch.effects (
			scope, key, idempotency_key, destination, queue, policy, state, attempt, created_at, next_attempt_at, last_attempt_at, finished_at,
			response_status, error, claim_id, lease_until, maybe_applied_since
		)
		SELECT 'x', key, key || '', $2, 'q', 'at_least_once', $3, CASE $3 WHEN 'pending' THEN 0 ELSE 1 END, now() - $6::interval, now() - $6::interval,
			CASE $3 WHEN 'pending' THEN NULL ELSE now() - $6::interval END, CASE WHEN $3 IN ('done', 'failed', 'parked') THEN now() - $6::interval END,
			$4, $5, CASE $3 WHEN 'started' THEN gen_random_uuid() END, CASE $3 WHEN 'started' THEN now() END, CASE $3 WHEN 'in_doubt' THEN now() END
		FROM (SELECT $2 || ' ' || $3 || ' ' || $6 || ' ' || $5 || ' ' || i AS key FROM generate_series(1, $1) AS i) AS made`,
		n, destination, string(state), status, said, ago)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "RESET session_replication_role")
	require.NoError(t, err)
}

func TestWhatADestinationAnsweredLately(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reader, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	l, err := reader.Answers(t.Context(), "app")
	require.NoError(t, err)
	require.Equal(t, measure.Answers{All: true}, l)

	fill(t, pool, 5, "app", ledger.EffectDone, 200, "", "5 minutes")
	fill(t, pool, 3, "app", ledger.EffectFailed, 422, "refused", "30 minutes")
	fill(t, pool, 2, "app", ledger.EffectInDoubt, nil, `Post "https://app.example/x": read tcp 10.0.0.1:4711->10.0.0.2:443: connection reset by peer`, "10 minutes")
	fill(t, pool, 1, "app", ledger.EffectParked, nil, "timeout", "2 hours")
	fill(t, pool, 4, "app", ledger.EffectPending, nil, "", "20 minutes")
	fill(t, pool, 9, "crm", ledger.EffectFailed, 503, "", "1 minute")
	l, err = reader.Answers(t.Context(), "app")
	require.NoError(t, err)
	require.Equal(t, []measure.AnswerGroup{
		{Answer: "200", State: ledger.EffectDone, Count: 5},
		{Answer: "422", State: ledger.EffectFailed, Count: 3},
		{Answer: "connection reset by peer", State: ledger.EffectInDoubt, Count: 2},
	}, l.Groups)
	require.True(t, l.All)
	require.Len(t, l.Attempts, 11)
	require.Equal(t, ledger.EffectDone, l.Attempts[0].State)
	require.Equal(t, "timeout", l.Attempts[10].Answer)
	require.Equal(t, 6, l.Waiting)
	require.WithinDuration(t, time.Now().Add(-20*time.Minute), l.OldestDue, time.Minute)
}

// Answers reads a bounded number of rows, and its result shows that rows were left out.
func TestWhatIsReadIsBounded(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if !explained.Available(t.Context(), pool) {
		t.Skip("this build of Postgres has no auto_explain")
	}
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	log := explained.Watch(config)
	watched, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(watched.Close)
	reader, err := measure.NewReader(watched, "")
	require.NoError(t, err)
	fill(t, pool, measure.MostWaiting+500, "app", ledger.EffectPending, nil, "", "3 minutes")
	fill(t, pool, 30_000, "app", ledger.EffectFailed, 503, "", "2 minutes")
	fill(t, pool, 3_000, "crm", ledger.EffectDone, 200, "", "1 minute")
	for _, analyse := range []string{"SELECT", "VACUUM ANALYZE"} {
		_, err = pool.Exec(t.Context(), analyse)
		require.NoError(t, err)
		_, err = reader.Answers(t.Context(), "app") // this call also reads the catalogue
		require.NoError(t, err)
		_, err = log.Take()
		require.NoError(t, err)
		l, err := reader.Answers(t.Context(), "app")
		require.NoError(t, err)
		ran, err := log.Take()
		require.NoError(t, err)
		require.NotEmpty(t, ran)
		for _, s := range ran {
			t.Logf("%s: %d pages: %.60s", analyse, s.Buffers, s.Text)
			require.Less(t, s.Buffers, 1_000, s.Plan)
		}
		require.Equal(t, measure.MostWaiting+1, l.Waiting)
		require.False(t, l.All)
		require.Equal(t, []measure.AnswerGroup{{Answer: "503", State: ledger.EffectFailed, Count: 500}}, l.Groups)
	}
}
