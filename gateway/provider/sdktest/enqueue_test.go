package sdktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The test runs the example of an application's own outbox with node-postgres. A commit
// creates an effect with its job, a rollback creates none, and two calls with the same key
// create only one effect.
func TestEnqueueFromNode(t *testing.T) {
	t.Parallel()
	script := filepath.Join(installNPM(t, enqueueExample, "enqueue.js"), "enqueue.js")
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE orders (id bigint PRIMARY KEY, total numeric NOT NULL)`)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, box.Fleet().RegisterDestinations(t.Context(), []fleet.Destination{{Name: "crm", Kind: "http", Queue: "dst_crm"}}))

	place := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
		command.Env = append(os.Environ(), "DATABASE_URL="+pgtest.URL(t, pool))
		said, err := command.CombinedOutput()
		return string(said), err
	}
	for _, want := range []string{"new\n", "known\n"} {
		said, err := place("1001")
		require.NoError(t, err, said)
		require.Equal(t, want, said)
	}
	said, err := place("1002", "--fail")
	require.Error(t, err)
	require.Equal(t, "out of stock\n", said)

	var orders, effects, jobs int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM orders),
		(SELECT count(*) FROM hooklatch.effects),
		(SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND queue = 'dst_crm')`).Scan(&orders, &effects, &jobs))
	require.Equal(t, []int{1, 1, 1}, []int{orders, effects, jobs})
	effect, err := box.Ledger().Effect(t.Context(), identity.EffectID{Scope: identity.ScopeOfEnqueue("crm"), Key: "order-1001", Generation: 1}.IdempotencyKey())
	require.NoError(t, err)
	require.Equal(t, ledger.EffectPending, effect.State)
	require.JSONEq(t, `{"order":1001,"total":99.9}`, string(effect.Request.Body))
}
