package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

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
