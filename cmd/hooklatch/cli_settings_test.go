package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPasswordOnTheCommandLineIsWarnedOf(t *testing.T) {
	t.Parallel()
	const said = "every user of this machine can read the password"
	for url, want := range map[string]int{
		"postgres://u:canary@127.0.0.1:1/x":            1,
		"host=127.0.0.1 port=1 user=u password=canary": 1,
		"postgres://u@127.0.0.1:1/x":                   0,
	} {
		var c command
		c.run(t.Context(), "check", "--database-url", url, "--config", writeText(t, "{}"))
		require.Equal(t, want, strings.Count(c.stderr.String(), said), c.stderr.String())
		require.NotContains(t, c.stderr.String()+c.stdout.String(), "canary")

		fromEnv := command{env: map[string]string{"DATABASE_URL": url}}
		fromEnv.run(t.Context(), "check", "--config", writeText(t, "{}"))
		require.NotContains(t, fromEnv.stderr.String(), said)
	}
}
