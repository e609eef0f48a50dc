package processes

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A stopping gateway still accepts deliveries, because a load balancer sends them until it learns
// from /readyz that the gateway is stopping. HOOKLATCH_LONG=1 sends 2,000 more deliveries.
func TestALeavingGatewayAccepts(t *testing.T) {
	t.Parallel()
	const (
		delay = 30 * time.Second // a busy machine takes long for a delivery
		learn = 3 * time.Second  // deliveries that begin in this time are accepted
	)
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "\ngateway:\n")
	text = []byte(strings.Replace(string(text), "\ngateway:\n", "\ngateway:\n  drain_delay: "+delay.String()+"\n", 1))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text", "--listen", free[0], "--admin-listen", free[1])
	p.Says(t, "msg=ready")
	closes := func() bool {
		answer, err := http.Get("http://" + free[0] + "/webhooks/unknown")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.Close
	}
	require.False(t, closes())

	began := time.Now()
	p.Signal(t, syscall.SIGTERM)
	p.Says(t, "stopping: deliveries are still accepted")
	deliveries := 0
	for deliveries == 0 || time.Since(began) < learn {
		clitest.Must(t, "send", "stripe", "--config", path, "--url", "http://"+free[0], "--new-ids")
		if deliveries++; deliveries == 1 {
			require.True(t, closes())
			var c clitest.Command
			require.Eventually(t, func() bool { // on a busy machine, there may be no response in time
				c = clitest.Command{}
				code := c.Run(t.Context(), "ready", "--url", "http://"+free[1])
				return code == cli.ExitOK || strings.Contains(c.Stderr.String(), "not ready")
			}, delay, clitest.Tick)
			require.Contains(t, c.Stderr.String(), "not ready")
		}
	}
	require.Positive(t, deliveries)
	if os.Getenv("HOOKLATCH_LONG") != "" {
		clitest.Must(t, "send", "stripe", "--config", path, "--url", "http://"+free[0], "--new-ids", "--times", "2000", "--parallel", "16")
		require.Less(t, time.Since(began), delay)
	}
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
	require.GreaterOrEqual(t, time.Since(began), delay)
}
