package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A repository may contain a .hooklatch directory with links to the user's files.
func TestDevFilesFollowNoLinkOutOfTheirDirectory(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), ".hooklatch")
	require.NoError(t, os.Mkdir(dir, 0o755))
	precious := filepath.Join(home, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("mine"), 0o600))
	for _, name := range []string{".gitignore", "dev.yaml", "dev.yaml.new", "postgres.log"} {
		require.NoError(t, os.Symlink(precious, filepath.Join(dir, name)))
	}
	files, err := openDevFiles(dir)
	require.NoError(t, err)
	defer files.Close()
	require.NoError(t, files.replace("dev.yaml", []byte("secret"), 0o600))
	_, err = files.log("postgres.log")
	require.ErrorContains(t, err, "path escapes from parent")

	text, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
	info, err := os.Lstat(filepath.Join(dir, "dev.yaml"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "a separate file, readable only by its owner")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "no temporary file is left")
}

func TestDevFilesRefuseADirectoryThatIsALink(t *testing.T) {
	t.Parallel()
	target, dir := t.TempDir(), filepath.Join(t.TempDir(), ".hooklatch")
	require.NoError(t, os.Symlink(target, dir))
	_, err := openDevFiles(dir)
	require.ErrorContains(t, err, "it is a symbolic link, which may point to another directory")
}
