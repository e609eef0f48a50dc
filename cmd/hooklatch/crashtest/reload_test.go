package crashtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// I7: SIGHUP changes a route's body between two attempts of one effect. The second attempt sends
// the same body as the first. The next event's effect uses the new body.
func TestReloadBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	seen := &calls{bodies: make(map[string][]string)}
	failed := make(chan struct{}, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.count(r) == 1 {
			http.Error(w, "not yet", http.StatusInternalServerError)
			failed <- struct{}{}
		}
	}))
	t.Cleanup(receiver.Close)
	pool := pgtest.New(t, pgtest.MaxConns(4))
	p := newProcess(t, pool, "serve", fmt.Sprintf(`
destinations:
  app: {http: {url: %q}, retry: {initial: 3s, max: 3s}}
routes:
  - {name: all, from: stripe, to: app, http: {body: '{"version": "one", "event": event.id}'}}
`, receiver.URL))
	p.start(t)
	status, _ := p.deliver(t.Context(), "invoice.paid", "evt_1")
	require.Equal(t, 200, status)
	<-failed

	text, err := os.ReadFile(p.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p.config, []byte(strings.Replace(string(text), `"one"`, `"two"`, 1)), 0o600))
	program, err := binary()
	require.NoError(t, err)
	require.Eventually(t, func() bool { // on a busy machine, a reload may take too long
		output, err := exec.Command(program, "reload", "--config", p.config).CombinedOutput() // returns when the configuration is in effect
		if err != nil {
			t.Logf("%s", output)
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	done := `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`
	require.Eventually(t, func() bool { return count(t, pool, done) == 1 }, patience, 10*time.Millisecond)
	status, _ = p.deliver(t.Context(), "invoice.paid", "evt_2")
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { return count(t, pool, done) == 2 }, patience, 10*time.Millisecond)

	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Len(t, seen.bodies, 2)
	for key, bodies := range seen.bodies {
		require.Len(t, bodies, 2, key)
		require.Equal(t, bodies[0], bodies[1])
		version := "one"
		if strings.Contains(bodies[0], "evt_2") {
			version = "two"
		}
		require.Contains(t, bodies[0], version, "the new body took effect for new effects")
	}
}
