package crashtest

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// With Postgres on a full disk, the process is not ready and gives the reason, and `hooklatch
// check` reports it. Once the disk has space, the process is ready again without any delivery. A
// trigger simulates the full disk: it fails with the error of a table that cannot be extended.
func TestAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	g := newProcess(t, pool, "serve", quickAndSlow(newBlockedReceiver(t)))
	g.impatient(t)
	g.start(t)
	require.Eventually(t, func() bool { // a busy machine may cause a 503
		status, _ := g.deliver(t.Context(), "quick", "evt")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
	for _, table := range []string{"deliveries", "processed_events", "river_job"} {
		_, err := pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
			END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON hooklatch.`+table+` FOR EACH ROW EXECUTE FUNCTION public.full_disk()`)
		require.NoError(t, err)
		status, _ := g.deliver(t.Context(), "quick", "evt_"+table)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Eventually(t, func() bool { // a probe that takes 2 seconds does not say why
			status, body := g.probe(t)
			require.Equal(t, http.StatusServiceUnavailable, status, body)
			return strings.Contains(body, "53100")
		}, patience, 20*time.Millisecond, table)

		path, err := binary()
		require.NoError(t, err)
		output, err := exec.Command(path, "check", "--config", g.config).CombinedOutput()
		require.Error(t, err, "check finds nothing: %s", output)
		require.Contains(t, string(output), "No space left on device")

		_, err = pool.Exec(t.Context(), `DROP TRIGGER full_disk ON hooklatch.`+table)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			status, _ = g.probe(t)
			return status == http.StatusOK
		}, patience, 20*time.Millisecond, "ready again without a delivery")
	}
	require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM hooklatch.deliveries`), "probes leave nothing behind")
	require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM hooklatch.processed_events`))
	require.NotContains(t, string(g.run(t, "check")), "No space left")
}
