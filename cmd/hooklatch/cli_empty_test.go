package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// An empty flag, such as --contains "$EMAIL" without the variable, is refused. It does not select
// every row.
func TestAnEmptyFilterIsMisuse(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	path := clitest.WriteConfig(t, pgtest.URL(t, pool))
	tried := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		line := strings.Fields(cmd.CommandPath())[1:]
		if cli.OnlyGroups(cmd) || cmd.InheritedFlags().Lookup("cell") == nil && cmd.Flags().Lookup("cell") == nil {
			return
		}
		for _, arg := range []string{"one", "two", "three"} { // until the command accepts the number of arguments
			if cmd.ValidateArgs(line[len(strings.Fields(cmd.CommandPath()))-1:]) == nil {
				break
			}
			line = append(line, arg)
		}
		for _, flag := range []string{"yes", "json"} {
			if cmd.Flags().Lookup(flag) != nil {
				line = append(line, "--"+flag)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"string", "stringSlice", "stringArray"}, f.Value.Type()) || slices.Contains(cli.MayBeEmpty, f.Name) {
				return
			}
			args := append(slices.Clone(line), "--"+f.Name, "")
			if f.Name != "config" {
				args = append(args, "--config", path)
			}
			var c clitest.Command
			require.Equal(t, cli.ExitMisused, c.Run(t.Context(), args...), "%q: %s", args, c.Stderr.String())
			require.Contains(t, c.Stderr.String(), fmt.Sprintf("hooklatch: --%s is empty: give a value or omit the flag\n", f.Name), "%q", args)
			require.Empty(t, c.Stdout.String())
			tried[cmd.CommandPath()+" --"+f.Name] = true
		})
	}
	walk(cli.NewRoot(&cli.Process{Name: clitest.TestName}))
	for _, known := range []string{
		"events erase --contains", "events list --has", "events replay --route", "events export --since", "effects cancel --destination", "effects retry --as-of", "effects list --state",
		"quarantine drop --source", "quarantine retry --refused-for", "quarantine list --source", "runs list --cell", "audit --until", "find --source", "status --team", "routes diff --when", "backfill status --config",
	} {
		require.True(t, tried[clitest.TestName+" "+known], known)
	}
	clitest.RequireMisused(t, "events", "list", "--state", "failed", "--effects", "failed,", "--config", path)
	var stored int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM hooklatch.replay_runs) + (SELECT count(*) FROM hooklatch.operator_log)`).Scan(&stored))
	require.Zero(t, stored, "nothing was carried out")
}
