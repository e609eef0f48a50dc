package enqueue

import (
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// shop is an application's database with the destination mail.
func shop(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE orders (id text PRIMARY KEY, total numeric NOT NULL)`)
	require.NoError(t, err)
	o, err := outbox.New(outbox.Options{Pool: pool})
	require.NoError(t, err)
	require.NoError(t, o.RegisterDestinations(t.Context(), []outbox.Destination{{Name: "mail", Kind: "email", Queue: "dst_mail"}}))
	return pool
}

// run runs an example against the database of pool and returns what it says.
func run(t *testing.T, pool *pgxpool.Pool, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "DATABASE_URL="+pgtest.URL(t, pool), "PSQLRC=/dev/null")
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

func requireOneEffect(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var orders, effects, jobs int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM orders),
		(SELECT count(*) FROM hooklatch.effects WHERE key = 'order-4711' AND destination = 'mail'),
		(SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND queue = 'dst_mail')`).Scan(&orders, &effects, &jobs))
	require.Equal(t, []int{1, 1, 1}, []int{orders, effects, jobs})
}

func TestPsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed")
	}
	pool := shop(t)
	for _, isNew := range []string{"t\n", "f\n"} {
		said := run(t, pool, psql, "-qtA", "--dbname", pgtest.URL(t, pool), "--set", "ON_ERROR_STOP=1", "--set", "id=4711", "--file", "order.sql")
		require.Equal(t, isNew, said)
	}
	requireOneEffect(t, pool)
}

func TestNode(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "node", "-e", `require("pg")`).Run(); err != nil {
		t.Skip("node with pg is not installed: npm install pg here, or name its folder in NODE_PATH")
	}
	pool := shop(t)
	require.Equal(t, "new\n", run(t, pool, "node", "order.js", "4711"))
	require.Equal(t, "known\n", run(t, pool, "node", "order.js", "4711"))
	requireOneEffect(t, pool)
}
