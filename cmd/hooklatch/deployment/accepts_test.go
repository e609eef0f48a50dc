package deployment

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestEveryCommandOfComposeIsAccepted(t *testing.T) {
	t.Parallel()
	for service, command := range composeCommands(t) {
		require.NoError(t, clitest.Accepts(command), service)
	}
	require.Error(t, clitest.Accepts([]string{"migrate"}))
	require.Error(t, clitest.Accepts([]string{"gateway", "--bogus"}))
	require.Error(t, clitest.Accepts([]string{"bogus"}))
}

// The changelog is not read: it names former commands.
func TestEveryCommandOfThePagesExists(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`hooklatch ([a-z]+(?: [a-z]+)?)")
	found := 0
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/providers/*.md"} {
		pages, err := filepath.Glob(filepath.Join(repository, pattern))
		require.NoError(t, err)
		for _, page := range pages {
			for _, match := range named.FindAllStringSubmatch(string(readFile(t, strings.TrimPrefix(page, repository+"/"))), -1) {
				require.True(t, clitest.HasCommand(strings.Fields(match[1])), "%s: there is no %s", page, match[0])
				found++
			}
		}
	}
	require.Greater(t, found, 30)
	require.False(t, clitest.HasCommand([]string{"config", "print"}))
	require.False(t, clitest.HasCommand([]string{"events", "nonsense"}))
}
