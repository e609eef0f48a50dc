package measure_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// finished inserts effects and events that are complete.
const finished = `
	SET session_replication_role = replica;
	INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at, next_attempt_at)
	SELECT 's', 'finished' || i, 'hl_finished' || i, 'crm', 'dst_crm', 'at_least_once', 'done', 1, now() - i * interval '1 second', now() - i * interval '1 second'
	FROM generate_series(1, 50000) AS i;
	INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at, outcome)
	SELECT 'stripe', 'finished' || i, 1000 + i, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', now(), 'dispatched'
	FROM generate_series(1, 50000) AS i;
	RESET session_replication_role;`

// The cost of a reading depends on the waiting work, not on the other rows of the tables or on
// Postgres' statistics.
func TestWhatIsFinishedCostsNothing(t *testing.T) {
	t.Parallel()
	for name, analyse := range map[string]string{"never analysed": "SELECT", "analysed when few rows": "VACUUM ANALYZE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin := waits(t)
			if !explained.Available(t.Context(), admin) {
				t.Skip("this build of Postgres has no auto_explain")
			}
			names := explained.Names{}
			require.NoError(t, names.Read(os.DirFS("query")))
			_, err := admin.Exec(t.Context(), analyse)
			require.NoError(t, err)
			read := map[string]func() map[string]int{}
			before := map[string]map[string]int{}
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				read[mode] = reading(t, admin, mode, names)
				read[mode]() // the first call makes the plans, and reads the catalogue
				before[mode] = read[mode]()
			}
			_, err = admin.Exec(t.Context(), finished)
			require.NoError(t, err)
			for _, step := range []string{"SELECT", "VACUUM ANALYZE"} {
				_, err = admin.Exec(t.Context(), step)
				require.NoError(t, err)
				for mode, again := range read {
					again()
					for statement, pages := range again() {
						t.Logf("%-20s %-20s %-20s %5d pages, %5d before", step, mode, statement, pages, before[mode][statement])
						require.LessOrEqual(t, pages, before[mode][statement]+40, "%s, %s, after %s", statement, mode, step)
					}
				}
			}
		})
	}
}

// reading returns a function that reads a Snapshot with plans of the given mode. The function
// returns the number of pages that each statement read.
func reading(t *testing.T, admin *pgxpool.Pool, mode string, names explained.Names) func() map[string]int {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(t, admin))
	require.NoError(t, err)
	config.MaxConns = 1 // a single connection keeps all plans
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = mode
	log := explained.Watch(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	reader, err := measure.NewReader(pool, schema.Default)
	require.NoError(t, err)
	return func() map[string]int {
		_, err := reader.Read(t.Context())
		require.NoError(t, err)
		ran, err := log.Take()
		require.NoError(t, err)
		pages := map[string]int{}
		for _, s := range ran {
			name := names.Of(s.Text)
			if name == "" {
				require.True(t, strings.Contains(s.Text, "set_config") || strings.Contains(s.Text, "pg_"), s.Text) // settings and functions
				continue
			}
			require.False(t, s.JIT, name)
			pages[name] += s.Buffers
		}
		return pages
	}
}
