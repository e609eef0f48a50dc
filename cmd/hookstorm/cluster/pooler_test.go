package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/pgbouncer"
)

// A process that connects through a transaction pooler refuses no delivery and loses no event,
// before and after the standby behind the pooler takes over.
func TestAPoolerOfTransactionsThroughAFailover(t *testing.T) {
	t.Parallel()
	deliveries := 200
	if os.Getenv("HOOKLATCH_LONG") != "" {
		deliveries = 10_000
	}
	c, direct := proxied(t, cluster.Options{Durable: true, Standby: true})
	migrate(t, c)
	pooled := pgbouncer.Start(t, direct)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	binary, err := programs.Build(t.Context(), programs.BuildOptions{Dir: "../../..", Out: filepath.Join(t.TempDir(), "hooklatch")})
	require.NoError(t, err)
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
database: {url: %q, direct_url: %q}
gateway: {listen: %q, accept_timeout: 60s, read_header_timeout: 60s}
admin: {listen: %q}
sources: {stripe: {provider: stripe, secrets: [whsec_of-the-test]}}
destinations: {app: {http: {url: %q}}}
routes: [{name: app, from: stripe, to: app}]
`, pooled, direct, free[0], free[1], receiver.URL), 0o600))

	serve := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve", "--config", file)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	serve.Stderr = log
	require.NoError(t, serve.Start())
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	t.Cleanup(func() { _ = serve.Process.Kill() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	deliver := func(rounds int) {
		require.Eventually(t, func() bool {
			answer, err := client.Get("http://" + free[1] + "/readyz")
			return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
		}, 2*time.Minute, 10*time.Millisecond)
		out, err := exec.CommandContext(t.Context(), binary, "send", "stripe", "--config", file,
			"--times", strconv.Itoa(deliveries), "--new-ids", "--parallel", "8").CombinedOutput()
		require.NoError(t, err, string(out))
		conn := connect(t, c.Primary("postgres"))
		require.Eventually(t, func() bool {
			var done int
			require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`).Scan(&done))
			return done == rounds*deliveries
		}, 2*time.Minute, 100*time.Millisecond)
		require.NoError(t, conn.Close(t.Context()))
	}
	deliver(1)
	require.NoError(t, c.Promote(t.Context(), cluster.Killed))
	deliver(2)
	require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended)
	text, err := os.ReadFile(log.Name())
	require.NoError(t, err)
	require.NotContains(t, string(text), "prepared statement")
	require.NotContains(t, string(text), `"status":503`)
}
