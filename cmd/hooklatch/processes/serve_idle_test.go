package processes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// An idle program rarely queries its database: it is notified of new work, and polls only in case a
// notification was lost. HOOKLATCH_LONG=1 halves the bound, for a quiet machine.
func TestAnIdleProgramLeavesTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	const (
		settles  = 8 * time.Second  // time for leader election, periodic jobs and their completion
		reported = 10 * time.Second // time until an idle connection reports its statistics
		measured = 15 * time.Second
		turns    = 12 // a busy machine takes longer to start and settle
	)
	bound := 16.0 // transactions per second: a loop that never waits makes hundreds
	if os.Getenv("HOOKLATCH_LONG") != "" {
		bound = 8
	}
	pool := pgtest.New(t)
	var beats atomic.Int32
	heart := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats.Add(1) }))
	t.Cleanup(heart.Close)
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pool))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text = fmt.Appendf(text, "alerts: {to: [{destination: mail, recipient: ops@example.com}], heartbeat: %q}\n", heart.URL)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text")
	p.Says(t, "msg=ready")
	transactions := func() (n int64) {
		require.NoError(t, pool.QueryRow(t.Context(),
			`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
		return n
	}
	time.Sleep(settles + reported) //nolint:forbidigo // a rate needs a duration
	var rate float64
	for turn := 0; turn == 0 || rate > bound && turn < turns; turn++ {
		before, began := transactions(), time.Now()
		time.Sleep(measured) //nolint:forbidigo // a rate needs a duration
		rate = float64(transactions()-before) / time.Since(began).Seconds()
		t.Logf("%.1f transactions a second", rate)
	}
	require.LessOrEqual(t, rate, bound)
	require.Positive(t, beats.Load(), "alerts were evaluated meanwhile")
	p.Signal(t, syscall.SIGTERM)
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
}
