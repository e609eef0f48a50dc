package programs_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The real program handles every action of a run.
func TestHooklatchIsStartedReloadedPausedKilledAndStopped(t *testing.T) {
	t.Parallel()
	binary, err := programs.Build(t.Context(), programs.BuildOptions{Dir: root, Out: filepath.Join(t.TempDir(), "hooklatch")})
	require.NoError(t, err)
	pool := pgtest.New(t)
	_, err = pool.Exec(t.Context(), scenario.Tables)
	require.NoError(t, err)
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	file, err := programs.NewConfiguration(filepath.Join(t.TempDir(), "hooklatch.yaml"), scenario.Settings{
		DatabaseURL: secret.New(pgtest.URL(t, pool)), GatewayListen: free[0], AdminListen: free[1],
		ReceiverURL: "http://127.0.0.1:9", MailHost: "127.0.0.1", MailPort: 9,
	})
	require.NoError(t, err)
	notes := newNotes()
	p, err := programs.New(programs.Options{
		Name: "serve-1", Build: "now", Binary: binary, Args: []string{"serve", "--config", file.Path()},
		Log: filepath.Join(t.TempDir(), "serve-1.log"), ReadyURL: "http://" + free[1] + "/readyz", History: notes.Writer,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Kill()) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	require.NoError(t, p.Start(ctx))
	require.NoError(t, p.Ready(ctx), p.LastLines())
	require.NoError(t, file.Vary())
	require.NoError(t, p.Reload(ctx))
	waitForLine(t, p, "configuration reloaded")
	require.NoError(t, file.Break())
	require.NoError(t, p.Reload(ctx))
	waitForLine(t, p, "nowhere")
	require.NoError(t, file.Mend())

	require.NoError(t, p.Pause())
	client := &http.Client{Timeout: 100 * time.Millisecond}
	// On a busy machine the threads of the process continue for a moment.
	require.Eventually(t, func() bool {
		answer, err := client.Get("http://" + free[1] + "/readyz")
		if err == nil {
			err = answer.Body.Close()
		}
		return err != nil
	}, 2*time.Minute, 10*time.Millisecond, "a paused process answers nothing")
	require.True(t, p.Alive())
	require.NoError(t, p.Continue())
	require.NoError(t, p.Ready(ctx))

	require.NoError(t, p.Kill())
	require.NoError(t, p.Start(ctx))
	require.NoError(t, p.Ready(ctx), p.LastLines())
	require.NoError(t, p.Stop(ctx))
	require.Equal(t, []string{
		"serve-1 started=true ordered=true ", "serve-1 started=false ordered=true signal: killed",
		"serve-1 started=true ordered=true ", "serve-1 started=false ordered=true exit status 0",
	}, notes.list())
}

func waitForLine(t *testing.T, p *programs.Program, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.LastLines(), text) }, 2*time.Minute, time.Millisecond, text)
}
