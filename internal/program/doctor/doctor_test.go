package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
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
		if name == "database" || name == "server" {
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

// Clients of a database in SQL_ASCII use SQL_ASCII too. A finding names the encoding, and no other
// check fails first.
func TestADatabaseThatIsNotUTF8IsAFinding(t *testing.T) {
	t.Parallel()
	admin := pgtest.New(t, pgtest.Own())
	_, err := admin.Exec(t.Context(), "CREATE DATABASE of_ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	require.NoError(t, err)
	config := admin.Config()
	config.ConnConfig.Database = "of_ascii"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	between, err := doctor.Pooler(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, "connected without a pooler", between.Message)
	found, err := doctor.Server(t.Context(), pool, doctor.ServerOptions{})
	require.NoError(t, err)
	require.Contains(t, found, doctor.Finding{
		Level: doctor.Problem, Check: "encoding", Message: "the encoding of the database is SQL_ASCII", Fix: "create a database with ENCODING 'UTF8'",
	})
	locks, err := doctor.Locks(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, doctor.OK, locks.Level)
}

// A role without the rights of pg_read_all_stats sees that a standby is connected, but not whether
// it is synchronous.
func TestServerSaysWhichRightShowsStandbys(t *testing.T) {
	t.Parallel()
	admin := pgtest.New(t, pgtest.Own())
	standby, err := pgconn.Connect(t.Context(), pgtest.URL(t, admin)+"&replication=true")
	require.NoError(t, err)
	t.Cleanup(func() { _ = standby.Close(context.Background()) })
	for _, statement := range []string{
		"CREATE ROLE app LOGIN PASSWORD 'app'",
		"GRANT USAGE ON SCHEMA hooklatch TO app",
		"ALTER SYSTEM SET synchronous_standby_names = 'never_there'", // must be the last setting: no COMMIT returns after it
		"SELECT pg_reload_conf()",
	} {
		_, err := admin.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	config := admin.Config()
	config.ConnConfig.User, config.ConnConfig.Password = "app", "app"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.Eventually(t, func() bool {
		found, err := doctor.Server(t.Context(), pool, doctor.ServerOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Check == "standby" && f.Level == doctor.OK && strings.Contains(f.Message, "pg_read_all_stats")
		})
	}, time.Minute, 50*time.Millisecond)
}
