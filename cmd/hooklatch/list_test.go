package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// shellWords returns the words of a command line as a shell reads them.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
	require.NoError(t, err, line)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// A printed command has the same flags as the command that printed it, whatever their type.
func TestAPrintedCommandHasTheFlagsOfItsCommand(t *testing.T) {
	t.Parallel()
	continued := func(cmd *cobra.Command) string { return commandFrom(cmd, "c") }
	carriedOut := func(cmd *cobra.Command) string { return commandFor(cmd, nil, false) }
	for path, printed := range map[string]func(*cobra.Command) string{
		"events list": continued, "effects list": continued, "audit": continued, "find": continued, "routes diff": continued,
		"effects retry": carriedOut, "effects cancel": carriedOut, "effects park": carriedOut,
	} {
		parsed := func(words ...string) *cobra.Command {
			cmd, _, err := newRoot(&process{name: programName}).Find(strings.Fields(path))
			require.NoError(t, err)
			require.NoError(t, cmd.ParseFlags(words), words)
			return cmd
		}
		parsed().Flags().VisitAll(func(f *pflag.Flag) {
			values := map[string][]string{"bool": {"true", "false"}, "int": {"7"}, "float64": {"1.5"}, "stringSlice": {"a,b"}}[f.Value.Type()]
			switch f.Name {
			case "cursor", "help", "yes", "json", "database-url":
				return
			}
			if values == nil {
				values = []string{"it's, one"}
			}
			for _, value := range values {
				cmd := parsed("--" + f.Name + "=" + value)
				line := printed(cmd)
				out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
				require.NoError(t, err, line)
				words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
				require.Equal(t, strings.Fields(programName+" "+path), words[:len(strings.Fields(path))+1])
				again := parsed(words[len(strings.Fields(path))+1:]...)
				require.Equal(t, cmd.Flags().Lookup(f.Name).Value.String(), again.Flags().Lookup(f.Name).Value.String(), line)
			}
		})
	}
}

// A list that has more rows than its limit says so.
func TestAListSaysThatItWasCut(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{noWorker: true, change: func(cfg *config.Config) { // only the gateway has this secret
		stripe := cfg.Sources["stripe"]
		stripe.Secrets = []config.Secret{{Value: secret.New("whsec_not_the_right_one_0123")}}
		cfg.Sources["stripe"] = stripe
	}})
	for range 3 {
		var c command
		require.Equal(t, exitFailed, c.run(t.Context(), s.args("send", "stripe")...))
		must(t, s.args("events", "replay", "--state", "skipped", "--yes", "--detach")...)
	}
	require.Eventually(t, func() bool { return s.counts(t, 3, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, patience, tick)
	for _, list := range []string{"quarantine list", "runs list"} {
		for limit, cut := range map[string]bool{"2": true, "3": false, "50": false} {
			var c command
			require.Zero(t, c.run(t.Context(), s.args(append(strings.Fields(list), "--limit", limit)...)...))
			require.Equal(t, cut, strings.Contains(c.stderr.String(), "--limit"), "%s --limit %s: %s", list, limit, c.stderr.String())
		}
		var c command
		require.Zero(t, c.run(t.Context(), s.args(append(strings.Fields(list), "--limit", "2", "--json")...)...))
		require.Contains(t, c.stderr.String(), "--limit")
	}
}

// A cursor that does not belong to a list is a mistake in the command line.
func TestACursorOfAnotherListIsMisuse(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, pgtest.URL(t, pgtest.New(t)))
	for _, list := range []string{"events list", "effects list", "events export", "audit", "find text", "routes diff " + path} {
		var c command
		require.Equal(t, exitMisused, c.run(t.Context(), append(strings.Fields(list), "--cursor", "nonsense", "--config", path)...), "%s: %s", list, c.stderr.String())
		require.Contains(t, c.stderr.String(), "--cursor", list)
	}
}
