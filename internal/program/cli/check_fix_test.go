package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// No version has a deprecated key yet, so the test declares one.
func TestDeprecatedKeysAreReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	const before = "# ours\ngateway:\n  drain_limit: 7s # at night\n"
	require.NoError(t, os.WriteFile(path, []byte(before), 0o640))
	fix := func(yes bool) (string, error) {
		var printed strings.Builder
		cfg, err := config.Load(path, os.LookupEnv, config.DeprecatedKey{Path: "gateway.drain_limit", Key: "drain_timeout", Since: "1.4.0"})
		require.NoError(t, err)
		err = (&cli{Process: &Process{Stdout: &printed}}).fix(cfg, yes)
		return printed.String(), err
	}
	holds := func(path, want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}

	found := path + ":3: gateway.drain_limit: has been deprecated since version 1.4.0: write drain_timeout\n"
	printed, err := fix(false)
	require.NoError(t, err)
	require.Equal(t, found+"nothing was changed: add --yes to change the file\n", printed)

	require.NoError(t, os.WriteFile(path+".bak", []byte("mine"), 0o600))
	_, err = fix(true)
	require.EqualError(t, err, path+".bak exists: move it away, then repeat the command")
	holds(path, before)
	holds(path+".bak", "mine")
	require.NoError(t, os.Remove(path+".bak"))

	printed, err = fix(true)
	require.NoError(t, err)
	require.Equal(t, found+"replaced; "+path+".bak is a copy of the old file\n", printed)
	holds(path, "# ours\ngateway:\n  drain_timeout: 7s # at night\n")
	holds(path+".bak", before)
	for _, file := range []string{path, path + ".bak"} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.EqualValues(t, 0o640, info.Mode().Perm())
	}
}
