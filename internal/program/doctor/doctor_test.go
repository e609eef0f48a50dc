package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestInvariantsHoldOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	found, err := doctor.Invariants(t.Context(), pgtest.New(t), schema.Default)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, f := range found {
		require.Equal(t, doctor.OK, f.Level, "%+v", f)
	}
}

// Every invariant has a file that violates only that invariant.
func TestBrokenInvariantsAreFound(t *testing.T) {
	t.Parallel()
	queries, err := filepath.Glob("query/*.sql")
	require.NoError(t, err)
	for _, query := range queries {
		name := strings.TrimSuffix(filepath.Base(query), ".sql")
		if name == "server" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			text, err := os.ReadFile(filepath.Join("testdata", name+".sql"))
			require.NoError(t, err)
			// Database constraints would refuse most of the violations.
			_, err = pool.Exec(t.Context(), "SET session_replication_role = replica;"+string(text)+";RESET session_replication_role")
			require.NoError(t, err)
			found, err := doctor.Invariants(t.Context(), pool, schema.Default)
			require.NoError(t, err)
			for _, f := range found {
				if f.Check != name {
					require.Equal(t, doctor.OK, f.Level, "%+v", f)
					continue
				}
				require.NotEqual(t, doctor.OK, f.Level)
				require.Contains(t, f.Message, "; 1 found\n")
				require.NotEmpty(t, f.Fix)
			}
		})
	}
}

func TestServerSettings(t *testing.T) {
	t.Parallel()
	level := func(t *testing.T, check string, opts ...pgtest.Option) doctor.Level {
		t.Helper()
		found, err := doctor.Server(t.Context(), pgtest.New(t, opts...), doctor.ServerOptions{})
		require.NoError(t, err)
		for _, f := range found {
			if f.Check == check {
				return f.Level
			}
		}
		require.Fail(t, "not checked", check)
		return ""
	}
	require.Equal(t, doctor.Problem, level(t, "fsync"))
	require.Equal(t, doctor.OK, level(t, "fsync", pgtest.Durable()))
	require.Equal(t, doctor.OK, level(t, "clock"))
	require.Equal(t, doctor.Warning, level(t, "synchronous_commit", pgtest.Setting("synchronous_commit", "off")))
}
