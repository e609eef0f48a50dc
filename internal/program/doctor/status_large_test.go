package doctor_test

import (
	_ "embed"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// soon is the maximum time that Postgres may spend on all statements of a status. The tables
// contain a million events and a million effects; 10,000 of the events and 100,000 of the effects
// wait.
const soon = 100 * time.Millisecond

//go:embed testdata/large.sql
var large string

// A status is correct for large tables, and reading it does not slow the server down.
// HOOKLATCH_LONG=1 uses a million rows.
func TestAStatusSaysWhatTheTablesHold(t *testing.T) {
	t.Parallel()
	rows := 20_000
	long := os.Getenv("HOOKLATCH_LONG") != ""
	if long {
		rows = 1_000_000
	}
	var opts []pgtest.Option
	if long {
		opts = append(opts, pgtest.Setting("shared_buffers", "512MB")) // a server with this much data has such a setting
	}
	admin := pgtest.New(t, opts...)
	conn, err := admin.Acquire(t.Context())
	require.NoError(t, err)
	for text := range strings.SplitSeq(strings.TrimSpace(large), ";\n") {
		var args []any
		if strings.Contains(text, "$1") {
			args = []any{rows}
		}
		_, err := conn.Exec(t.Context(), text, args...)
		require.NoError(t, err, text)
	}
	conn.Release()

	config, err := pgxpool.ParseConfig(pgtest.URL(t, admin))
	require.NoError(t, err)
	var log *explained.Log
	if explained.Available(t.Context(), admin) {
		log = explained.Watch(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for _, analyse := range []string{"SELECT", "VACUUM ANALYZE"} {
		_, err := admin.Exec(t.Context(), analyse)
		require.NoError(t, err)
		var s *doctor.Status
		for range 3 { // the last request counts: the first ones read the catalogue, and read from disk
			if log != nil {
				_, _ = log.Take()
			}
			s, err = doctor.ReadStatus(t.Context(), doctor.StatusOptions{Pool: pool})
			require.NoError(t, err)
		}
		require.Equal(t, counted(t, admin, `SELECT destination || ' ' || state, count(*) FROM hooklatch.effects WHERE state <> 'done' GROUP BY 1`), effectsOf(s))
		require.Equal(t, counted(t, admin, `SELECT source || ' ' || outcome, count(*) FROM hooklatch.processed_events WHERE outcome <> 'dispatched' GROUP BY 1`), eventsOf(s))
		if log == nil {
			continue
		}
		ran, err := log.Take()
		require.NoError(t, err)
		var took time.Duration
		for _, one := range ran {
			took += one.Took
			if one.Took > 2*time.Millisecond {
				t.Logf("%s: %.150q", one.Took, one.Text)
			}
		}
		t.Logf("%s: %d statements, %s of the server's time", analyse, len(ran), took)
		if long {
			require.Less(t, took, soon)
		}
	}
}

func counted(t *testing.T, pool *pgxpool.Pool, query string) map[string]int64 {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	require.NoError(t, err)
	counts := map[string]int64{}
	var of string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&of, &n}, func() error {
		counts[of] = n
		return nil
	})
	require.NoError(t, err)
	return counts
}

func effectsOf(s *doctor.Status) map[string]int64 {
	counts := map[string]int64{}
	for _, d := range s.Destinations {
		for state, n := range d.Effects {
			counts[d.Name+" "+state] = n
		}
	}
	return counts
}

func eventsOf(s *doctor.Status) map[string]int64 {
	counts := map[string]int64{}
	for _, of := range s.Sources {
		for outcome, n := range map[string]int64{"received": of.Undispatched, "failed": of.Failed, "held": of.Held} {
			if n > 0 {
				counts[of.Name+" "+outcome] = n
			}
		}
	}
	return counts
}
