package doctor_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// waits returns a database with waiting rows of each kind.
func waits(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	// At each half hour, the status begins to compare with a different hour, so the test does not
	// start just before that.
	require.Eventually(t, func() bool {
		var middle bool
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT extract(epoch FROM now()) % 1800 BETWEEN 0 AND 1680`).Scan(&middle))
		return middle
	}, 4*time.Minute, 100*time.Millisecond)
	for _, file := range []string{"../../../outbox/measure/testdata/waits.sql", "testdata/lately.sql"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), string(text))
		require.NoError(t, err, file)
	}
	return pool
}

// Patterns of values that differ between test runs.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)|\b\d+ s\b`)

func matches(t *testing.T, file string, got []byte) {
	t.Helper()
	got = changing.ReplaceAll(got, []byte("TIME"))
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestAllIsSaidOnOneScreen(t *testing.T) {
	t.Parallel()
	s, err := doctor.ReadStatus(t.Context(), doctor.StatusOptions{
		Pool: waits(t), SizeBudget: 10_000, Sources: func() []string { return []string{"stripe", "its new"} },
	})
	require.NoError(t, err)
	var screen, machine bytes.Buffer
	require.NoError(t, s.Print(&screen))
	matches(t, "testdata/screen.txt", screen.Bytes())
	encoder := json.NewEncoder(&machine)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(s))
	matches(t, "testdata/status.json", machine.Bytes())
}

// A page for which a user waits counts fewer rows, and says that there may be more. With 51
// destinations and 51 sources, the limit for each of them is the minimum, a thousand rows.
func TestWhoWaitsIsToldThatThereMayBeMore(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `SET LOCAL session_replication_role = replica;
		CREATE TEMPORARY TABLE waiting ON COMMIT DROP AS
		SELECT 'many' AS name, i FROM generate_series(1, 1001) AS i
		UNION ALL
		SELECT 'few_' || i, i FROM generate_series(1, 50) AS i;
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy)
		SELECT name, i, 'hl_' || name || i, name, 'q', 'at_least_once' FROM waiting;
		INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue)
		SELECT name, i, nextval('hooklatch.accept_seq'), gen_random_uuid(), 'hmac', 'order.paid', gen_random_uuid(), '\x00', 'dispatch' FROM waiting`)
	require.NoError(t, err)
	for awaited, want := range map[bool]string{false: "1001", true: "1000+"} {
		s, err := doctor.ReadStatus(t.Context(), doctor.StatusOptions{Pool: pool, Awaited: awaited})
		require.NoError(t, err)
		effects, events := map[string]string{}, map[string]string{}
		for _, d := range s.Destinations {
			effects[d.Name] = d.Count("pending")
		}
		for _, of := range s.Sources {
			events[of.Name] = of.Waits()
		}
		for _, counts := range []map[string]string{effects, events} {
			require.Len(t, counts, 51)
			require.Equal(t, want, counts["many"])
			require.Equal(t, "1", counts["few_50"])
		}
	}
}

func TestNothingIsSaidOfAnEmptySystem(t *testing.T) {
	t.Parallel()
	s, err := doctor.ReadStatus(t.Context(), doctor.StatusOptions{Pool: pgtest.New(t)})
	require.NoError(t, err)
	require.Len(t, s.Needs, 1, "there is no worker")
	require.Equal(t, "no_worker", s.Needs[0].Name)
	_, known := s.FirstAttempts.Rate()
	require.False(t, known)
	require.Empty(t, s.Sources)
	require.NoError(t, s.Print(&bytes.Buffer{}))
}

func TestAStatusOfSome(t *testing.T) {
	t.Parallel()
	s, err := doctor.ReadStatus(t.Context(), doctor.StatusOptions{Pool: waits(t), Of: func(name string) bool { return name == "mail" || name == "github" }})
	require.NoError(t, err)
	require.Len(t, s.Destinations, 1)
	require.Len(t, s.Sources, 1)
	subjects := map[string]bool{}
	for _, a := range s.Needs {
		subjects[a.Subject] = true
	}
	require.Equal(t, map[string]bool{"mail": true, "github": true, "events of stripe": true, "": true}, subjects)
	require.EqualValues(t, 60, s.FirstAttempts.All, "of mail")
}
