//go:build linux || darwin || freebsd

package embedded_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// A caller can start a server itself, with the programs and the account that Installed returns.
func TestInstalledNamesProgramsAndAccount(t *testing.T) {
	t.Parallel()
	found, err := embedded.Installed(t.Context())
	require.NoError(t, err)
	for _, program := range []string{"postgres", "initdb"} {
		require.FileExists(t, filepath.Join(found.Bin, program))
	}
	require.NotZero(t, found.UID, "Postgres refuses root")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, found.Take(file))
}
