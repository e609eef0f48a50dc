package checks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestCheckFixesOnlyDeprecatedKeys(t *testing.T) {
	t.Parallel()
	path := clitest.WriteText(t, "gateway:\n  drain_timeout: 7s\n")
	for _, args := range [][]string{{"check", "--fix"}, {"check", "--fix", "--yes"}} {
		require.Equal(t, path+": nothing to fix: no key is deprecated\n", clitest.Must(t, append(args, "--config", path)...))
	}
	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "check", "--yes", "--config", path))
	require.Contains(t, c.Stderr.String(), "--yes works only with --fix")
}
