package main_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestProvidersListsAll(t *testing.T) {
	t.Parallel()
	path := clitest.WriteText(t, "sources: {payments: {provider: stripe, secrets: [the-first-secret]}, billing: {provider: stripe, secrets: [the-second-secret]}}")
	lines := strings.Split(strings.TrimSpace(clitest.Must(t, "providers", "--config", path)), "\n")
	require.Len(t, lines, 1+len(catalog.Names()))
	for i, name := range catalog.Names() {
		require.True(t, strings.HasPrefix(lines[i+1], name+" "), lines[i+1])
		if name == "stripe" {
			require.Regexp(t, `^stripe +Stripe +documentation,sdk .* 3d +30d +30d +billing, payments$`, lines[i+1])
		}
	}
	var all []cli.Described
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, "providers", "--json", "--config", path)), &all))
	require.Len(t, all, len(catalog.Names()))
}

func TestProvidersShowsOne(t *testing.T) {
	t.Parallel()
	path := clitest.WriteText(t, "gateway: {public_url: https://hooks.example.com/in}\nsources: {code: {provider: github, secrets: [canary-secret]}}")
	text := clitest.Must(t, "providers", "github", "--config", path)
	for _, want := range []string{
		"GitHub (github)\n",
		"keep dedup     at least 3d (3d of manual resends)\n",
		"https://hooks.example.com/in/webhooks/code",
		"configuration\n  sources:\n    github:\n      provider: github\n      secrets: [\"${GITHUB_WEBHOOK_SECRET}\"]\n",
		"configured sources\n  code  https://hooks.example.com/in/webhooks/code\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "canary")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), 97, line)
	}

	var one cli.Described
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, "providers", "github", "--json", "--config", path)), &one))
	require.Equal(t, "3d", one.Floor)
	require.True(t, one.UnsignedID)
	require.Equal(t, []cli.DescribedSource{{Name: "code", URL: "https://hooks.example.com/in/webhooks/code"}}, one.Sources)
}

func TestProvidersRefuses(t *testing.T) {
	t.Parallel()
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "providers", "carrier-pigeon"))
	require.Contains(t, c.Stderr.String(), `no provider is named "carrier-pigeon"`)

	var absent clitest.Command
	require.Equal(t, cli.ExitFailed, absent.Run(t.Context(), "providers", "--config", filepath.Join(t.TempDir(), "no.yaml")))

	var many clitest.Command
	require.Equal(t, cli.ExitMisused, many.Run(t.Context(), "providers", "github", "stripe"))
}
