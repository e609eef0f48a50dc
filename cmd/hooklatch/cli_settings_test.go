package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestAPasswordOnTheCommandLineIsWarnedOf(t *testing.T) {
	t.Parallel()
	const said = "every user of this machine can read the password"
	for url, want := range map[string]int{
		"postgres://u:canary@127.0.0.1:1/x":            1,
		"host=127.0.0.1 port=1 user=u password=canary": 1,
		"postgres://u:%63anary@127.0.0.1:1/x":          1,
		"postgres://u@127.0.0.1:1/x":                   0,
	} {
		var c clitest.Command
		c.Run(t.Context(), "check", "--database-url", url, "--config", clitest.WriteText(t, "{}"))
		require.Equal(t, want, strings.Count(c.Stderr.String(), said), c.Stderr.String())
		require.NotContains(t, c.Stderr.String()+c.Stdout.String(), "canary")

		fromEnv := clitest.Command{Env: map[string]string{"DATABASE_URL": url}}
		fromEnv.Run(t.Context(), "check", "--config", clitest.WriteText(t, "{}"))
		require.NotContains(t, fromEnv.Stderr.String(), said)
	}
}
