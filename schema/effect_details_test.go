package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Shortened statements of a program that is older than migration 0016.
const (
	olderEffect = `
		WITH made AS (
			INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, source, event_id)
			VALUES ('route:s:r', $1, $1, 'app', 'dst_app', 'at_least_once', 's', 'evt_1')
			ON CONFLICT DO NOTHING
			RETURNING scope, key, generation
		)
		INSERT INTO hooklatch.effect_events (source, event_id, scope, key, generation, suppressed)
		SELECT 's', 'evt_1', scope, key, generation, false
		FROM made
		ON CONFLICT (source, event_id, scope, key, generation) DO NOTHING`
	olderClaim = `
		WITH asked AS (
			SELECT *, state = 'started' AS lost FROM hooklatch.effects WHERE key = $1 FOR UPDATE
		), granted AS (
			UPDATE hooklatch.effects AS e
			SET state = 'started', attempt = e.attempt + 1, claim_id = gen_random_uuid(), lease_until = now(), last_attempt_at = now(),
				maybe_applied_since = CASE WHEN asked.lost THEN COALESCE(e.maybe_applied_since, e.last_attempt_at) ELSE e.maybe_applied_since END
			FROM asked
			WHERE e.key = asked.key
			RETURNING e.key
		), recorded AS (
			INSERT INTO hooklatch.effect_attempts (scope, key, generation, attempt, started_at, finished_at, lost, state, applied, claim_id)
			SELECT scope, key, generation, attempt, last_attempt_at, now(), true, 'in_doubt', 'unknown', claim_id
			FROM asked
			WHERE lost
			ON CONFLICT (scope, key, generation, attempt) DO NOTHING
		)
		SELECT key FROM granted`
	olderSettle = `
		WITH settled AS (
			UPDATE hooklatch.effects
			SET state = $2, claim_id = NULL, lease_until = NULL, error = 'answered ' || $2::text
			WHERE key = $1 AND state = 'started'
			RETURNING *
		)
		INSERT INTO hooklatch.effect_attempts (scope, key, generation, attempt, started_at, finished_at, state, applied, error)
		SELECT scope, key, generation, attempt, last_attempt_at, now(), state, 'yes', error
		FROM settled
		ON CONFLICT (scope, key, generation, attempt) DO NOTHING`
)

// story returns the rows of an effect's transitions, attempts and links, each as one line.
func story(t *testing.T, pool *pgxpool.Pool, key string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT format('%s %s -> %s', attempt, from_state, to_state) || COALESCE(', ' || NULLIF(reason, ''), '')
		FROM (SELECT * FROM hooklatch.effect_transitions WHERE scope = 'route:s:r' AND key = $1 AND generation = 1 ORDER BY id) AS t
		UNION ALL
		SELECT format('attempt %s %s %s', attempt, state, CASE WHEN lost THEN 'lost' ELSE applied END)
		FROM (SELECT * FROM hooklatch.all_attempts WHERE scope = 'route:s:r' AND key = $1 AND generation = 1 ORDER BY attempt) AS a
		UNION ALL
		SELECT format('of %s/%s', source, event_id) FROM hooklatch.all_links WHERE key = $1`, key)
	require.NoError(t, err)
	told, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return told
}

func run(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}

const olderEvent = `
	INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue)
	VALUES ('s', 'evt_1', nextval('hooklatch.accept_seq'), gen_random_uuid(), 'p', 't', gen_random_uuid(), '', 'dispatch')`

// In a rolling update, programs that know only the old tables continue to work, and readers of
// the new tables miss nothing that these programs write.
func TestOlderProgramsWriteIntoTheNewTables(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	run(t, pool, olderEvent)
	run(t, pool, olderEffect, "k")
	run(t, pool, olderEffect, "k")
	run(t, pool, olderClaim, "k")
	require.Equal(t, []string{"1 pending -> started", "of s/evt_1"}, story(t, pool, "k"))
	run(t, pool, olderClaim, "k")
	run(t, pool, olderSettle, "k", "in_doubt")
	run(t, pool, `UPDATE hooklatch.effects SET state = 'parked', error = 'ann' WHERE key = 'k'`)
	run(t, pool, `UPDATE hooklatch.effects SET state = 'in_doubt', error = 'bob' WHERE key = 'k'`)
	run(t, pool, olderClaim, "k")
	run(t, pool, olderSettle, "k", "done")
	require.Equal(t, []string{
		"1 pending -> started", "2 started -> started", "2 started -> in_doubt, answered in_doubt", "2 in_doubt -> parked, ann", "2 parked -> in_doubt, bob",
		"3 in_doubt -> started", "3 started -> done",
		"attempt 1 in_doubt lost", "attempt 2 in_doubt yes", "attempt 3 done yes",
		"of s/evt_1",
	}, story(t, pool, "k"))
	require.Zero(t, count(t, pool, `SELECT (SELECT count(*) FROM hooklatch.effect_attempts) + (SELECT count(*) FROM hooklatch.effect_events)`))
}

// Rows from before the migration stay, form one history with later rows, and are kept when the
// migration is removed.
func TestRowsOfBeforeAreToldWithThoseOfAfter(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	const without = 15 // the next migration creates the tables
	_, err = migrator.Down(t.Context(), len(status.Migrations)-without)
	require.NoError(t, err)
	run(t, pool, olderEvent)
	for _, key := range []string{"ended", "begun", "waiting"} {
		run(t, pool, olderEffect, key)
	}
	run(t, pool, olderClaim, "ended")
	run(t, pool, olderSettle, "ended", "done")
	run(t, pool, olderClaim, "begun")
	run(t, pool, `UPDATE hooklatch.effects SET created_at = created_at - interval '3 days', last_attempt_at = now() - interval '2 days' WHERE key = 'begun'`)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)

	require.Equal(t, []string{"1 pending -> started", "1 started -> done", "attempt 1 done yes", "of s/evt_1"}, story(t, pool, "ended"))
	require.Equal(t, []string{"1 pending -> started", "of s/evt_1"}, story(t, pool, "begun"))
	run(t, pool, olderClaim, "begun")
	run(t, pool, olderSettle, "begun", "failed")
	run(t, pool, olderClaim, "waiting")
	after := map[string][]string{
		"begun": {
			"1 pending -> started", "2 started -> started", "2 started -> failed, answered failed",
			"attempt 1 in_doubt lost", "attempt 2 failed yes", "of s/evt_1",
		},
		"waiting": {"1 pending -> started", "of s/evt_1"},
	}
	for key, want := range after {
		require.Equal(t, want, story(t, pool, key))
	}
	require.Equal(t, 2, count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE effect_id IS NOT NULL`), "the effects that changed after the migration")
	run(t, pool, olderEffect, "waiting")

	_, err = migrator.Down(t.Context(), len(status.Migrations)-without)
	require.NoError(t, err)
	require.Equal(t, 6, count(t, pool, `SELECT count(*) FROM hooklatch.effect_transitions`))
	require.Equal(t, 3, count(t, pool, `SELECT count(*) FROM hooklatch.effect_attempts`))
	require.Equal(t, 3, count(t, pool, `SELECT count(*) FROM hooklatch.effect_events`))
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	for key, want := range after {
		require.Equal(t, want, story(t, pool, key))
	}
}
