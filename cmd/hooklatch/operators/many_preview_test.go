package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// With --json, a command that needs --yes prints its preview as JSON too.
func TestAPreviewIsJSON(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) { // changes only the gateway; the commands have the right secret
		stripe := cfg.Sources["stripe"]
		stripe.Secrets = []config.Secret{{Value: secret.New("whsec_not_the_right_one_0123")}}
		cfg.Sources["stripe"] = stripe
	}})
	var refused clitest.Command
	require.Equal(t, cli.ExitFailed, refused.Run(t.Context(), s.Args("send", "stripe")...))
	clitest.Must(t, s.Args("send", "github", "--id", "id-1")...)
	s.WaitDone(t, "github", "id-1")
	require.Eventually(t, func() bool { return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	key := s.Text(t, `SELECT idempotency_key FROM hooklatch.effects LIMIT 1`)
	list := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(list, []byte(key+"\n"), 0o600))
	previews := map[string][]string{
		"backfill":         nil, // needs a sender: see backfill_test.go
		"check":            {"check"},
		"effects cancel":   {"effects cancel --state failed"},
		"effects erase":    {"effects erase " + key},
		"effects park":     {"effects park --state pending"},
		"effects retry":    {"effects retry --state failed"},
		"events drop":      {"events drop --source github"},
		"events erase":     {"events erase --source github", "events erase github id-1", "events erase --again " + list},
		"events release":   {"events release --source github"},
		"events replay":    {"events replay --source github"},
		"migrate down":     nil, // has no preview
		"quarantine drop":  {"quarantine drop --source stripe", "quarantine drop --source github"},
		"quarantine retry": {"quarantine retry"},
		"repair":           {"repair --promoted"},
		"retention run":    {"retention run"},
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.Flags().Lookup("yes") == nil || cmd.Flags().Lookup("json") == nil {
			return
		}
		path := strings.TrimPrefix(cmd.CommandPath(), clitest.TestName+" ")
		_, known := previews[path]
		require.True(t, known, path)
		for _, line := range previews[path] {
			var c clitest.Command
			require.NotEqual(t, cli.ExitMisused, c.Run(t.Context(), s.Args(append(strings.Fields(line), "--json")...)...), "%s: %s", line, c.Stderr.String())
			require.True(t, json.Valid([]byte(c.Stdout.String())), "%s:\n%s", line, c.Stdout.String())
		}
	}
	walk(cli.NewRoot(&cli.Process{Name: clitest.TestName}))

	previewed := clitest.Must(t, s.Args("quarantine", "drop", "--json")...)
	require.JSONEq(t, `{"action":"quarantine.drop","preview":true,"selected":1}`, only(t, previewed, "action", "preview", "selected"))
	require.Contains(t, previewed, `"wrong_signature"`)
	require.JSONEq(t, `{"action":"quarantine.retry","preview":true,"selected":0,"shares":[]}`, clitest.Must(t, s.Args("quarantine", "retry", "--source", "github", "--json")...))
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
}
