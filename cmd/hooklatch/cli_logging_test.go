package main_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// logged returns the lines of a JSON log by message.
func logged(t *testing.T, log string) map[string][]map[string]any {
	t.Helper()
	lines := map[string][]map[string]any{}
	for line := range strings.Lines(log) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		message, ok := fields["msg"].(string)
		require.True(t, ok, line)
		lines[message] = append(lines[message], fields)
	}
	return lines
}

func TestTheLogSaysWhatStartedAndThatItStopped(t *testing.T) {
	t.Parallel()
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	cfg, err := config.Load(path, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var c clitest.Command
	code := make(chan int)
	go func() { code <- c.Run(ctx, "serve", "--config", path, "--log-format", "json") }()
	require.Eventually(t, func() bool { return strings.Contains(c.Stderr.String(), `"msg":"ready"`) }, clitest.Patience, clitest.Tick)

	started := logged(t, c.Stderr.String())["started"]
	require.Len(t, started, 1)
	var build struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, "version", "--json")), &build))
	require.Equal(t, build.Version, started[0][logkey.Version])
	require.Equal(t, path, started[0][logkey.Config])
	require.Equal(t, cfg.Hash(), started[0][logkey.ConfigHash])
	for _, listener := range []string{logkey.Admin, logkey.Gateway} {
		address, ok := started[0][listener].(string)
		require.True(t, ok, listener)
		require.NoError(t, clitest.Get(t, address+"/").Body.Close())
	}
	cancel()
	require.Zero(t, <-code, c.Stderr.String())
	lines := logged(t, c.Stderr.String())
	require.Len(t, lines["ready"], 1)
	require.Len(t, lines["stopped"], 1)
	require.IsType(t, 0.0, lines["stopped"][0][logkey.Duration])
}
