package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// The configuration in the packages is valid once the files with the database URL and the admin
// token exist.
func TestThePackagedConfigurationIsValid(t *testing.T) {
	t.Parallel()
	credentials := t.TempDir()
	for _, name := range []string{"database-url", "admin-token"} {
		require.NoError(t, os.WriteFile(filepath.Join(credentials, name), []byte("postgres://localhost/hooklatch"), 0o600))
	}
	cfg, err := config.Load("../../../.ci/packages/hooklatch.yaml", func(name string) (string, bool) {
		return credentials, name == "CREDENTIALS_DIRECTORY"
	})
	require.NoError(t, err)
	require.Empty(t, cfg.Warnings())
	require.Empty(t, cfg.Sources)
}
