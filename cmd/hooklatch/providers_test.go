package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// writeText writes a configuration file with the text, and returns its path.
func writeText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestProvidersListsAll(t *testing.T) {
	t.Parallel()
	path := writeText(t, "sources: {payments: {provider: stripe, secrets: [the-first-secret]}, billing: {provider: stripe, secrets: [the-second-secret]}}")
	lines := strings.Split(strings.TrimSpace(must(t, "providers", "--config", path)), "\n")
	require.Len(t, lines, 1+len(catalog.Names()))
	for i, name := range catalog.Names() {
		require.True(t, strings.HasPrefix(lines[i+1], name+" "), lines[i+1])
		if name == "stripe" {
			require.Regexp(t, `^stripe +Stripe +documentation,sdk .* 3d +30d +30d +billing, payments$`, lines[i+1])
		}
	}
	var all []described
	require.NoError(t, json.Unmarshal([]byte(must(t, "providers", "--json", "--config", path)), &all))
	require.Len(t, all, len(catalog.Names()))
}

func TestProvidersShowsOne(t *testing.T) {
	t.Parallel()
	path := writeText(t, "gateway: {public_url: https://hooks.example.com/in}\nsources: {code: {provider: github, secrets: [canary-secret]}}")
	text := must(t, "providers", "github", "--config", path)
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
		require.LessOrEqual(t, len([]rune(line)), pageWidth+1, line)
	}

	var one described
	require.NoError(t, json.Unmarshal([]byte(must(t, "providers", "github", "--json", "--config", path)), &one))
	require.Equal(t, "3d", one.Floor)
	require.True(t, one.UnsignedID)
	require.Equal(t, []describedSource{{Name: "code", URL: "https://hooks.example.com/in/webhooks/code"}}, one.Sources)
}

// Every shown snippet is a valid configuration, except for the secret.
func TestProvidersSnippetsAreConfigurations(t *testing.T) {
	t.Parallel()
	empty := config.Default()
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := describe(name, &empty)
			require.NoError(t, err)
			require.NotEmpty(t, d.FloorReason)
			_, err = config.Parse("snippet.yaml", []byte(d.Snippet), func(string) (string, bool) { return "c2VjcmV0LXNlY3JldC1zZWNyZXQ=", true })
			if err != nil {
				require.Contains(t, err.Error(), "cannot be used by provider", d.Snippet)
				require.NotContains(t, err.Error(), "\n")
			}
		})
	}
}

func TestProvidersRefuses(t *testing.T) {
	t.Parallel()
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), "providers", "carrier-pigeon"))
	require.Contains(t, c.stderr.String(), `no provider is named "carrier-pigeon"`)

	var absent command
	require.Equal(t, exitFailed, absent.run(t.Context(), "providers", "--config", filepath.Join(t.TempDir(), "no.yaml")))

	var many command
	require.Equal(t, exitMisused, many.run(t.Context(), "providers", "github", "stripe"))
}
