package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)

	_, err := Find("")
	require.ErrorIs(t, err, ErrNoFile)
	require.ErrorContains(t, err, "./hooklatch.yaml")
	_, err = Find("elsewhere.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.Mkdir(".hooklatch", 0o755))
	require.NoError(t, os.WriteFile(filepath.FromSlash(DevPath), nil, 0o600))
	path, err := Find("")
	require.NoError(t, err)
	require.Equal(t, filepath.FromSlash(DevPath), path)

	require.NoError(t, os.WriteFile(DefaultPath, nil, 0o600))
	path, err = Find("")
	require.NoError(t, err)
	require.Equal(t, DefaultPath, path)

	require.NoError(t, os.WriteFile("elsewhere.yaml", nil, 0o600))
	path, err = Find("elsewhere.yaml")
	require.NoError(t, err)
	require.Equal(t, "elsewhere.yaml", path)
}

// The error about a missing file at InstalledPath explains where the file belongs, and shows a file
// that works.
func TestAMissingInstalledFileIsExplained(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(InstalledPath); err == nil {
		t.Skip("this machine has a configuration")
	}
	_, err := Find(InstalledPath)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "-v ./hooklatch.yaml:/etc/hooklatch/hooklatch.yaml:ro")
	require.ErrorContains(t, err, smallest)
	require.Len(t, strings.Split(strings.TrimSpace(smallest), "\n"), 3)
	environment := map[string]string{"APP_URL": "https://example.com/hooks", "STRIPE_WEBHOOK_SECRET": "whsec_0123456789abcdef"}
	cfg, err := Parse(InstalledPath, []byte(smallest), func(name string) (string, bool) { value, ok := environment[name]; return value, ok })
	require.NoError(t, err)
	require.Empty(t, cfg.Warnings())
}

func TestADirectoryIsNoConfiguration(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err := Find(dir)
	require.ErrorContains(t, err, dir+" is a directory")
	require.ErrorContains(t, err, "remove the directory there, and write the file")
}
