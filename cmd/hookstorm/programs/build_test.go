package programs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

// newRepository creates a repository with two commits of a program, which have the Git tags one and
// two. The program prints its Git tag and, if built with the build tag fault, "with faults".
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	git("init", "-q")
	write("go.mod", "module example.com/program\n\ngo 1.26\n")
	write("tagged.go", "//go:build fault\n\npackage main\n\nfunc init() { version += \" with faults\" }\n")
	for _, version := range []string{"one", "two"} {
		write("main.go", "package main\n\nvar version = \""+version+"\"\n\nfunc main() { println(version) }\n")
		git("add", ".")
		git("commit", "-q", "-m", version)
		git("tag", version)
	}
	return dir
}

func runBinary(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path).CombinedOutput()
	require.NoError(t, err)
	return string(out)
}

func TestPreviousCommitIsBuiltInAWorktreeThatGoesAway(t *testing.T) {
	t.Parallel()
	repository := newRepository(t)
	build := func(dir, name string, tags ...string) string {
		path, err := programs.Build(t.Context(), programs.BuildOptions{Dir: dir, Out: filepath.Join(t.TempDir(), name), Package: ".", Tags: tags})
		require.NoError(t, err)
		return path
	}
	dir, remove, err := programs.Worktree(t.Context(), repository, "one")
	require.NoError(t, err)
	previous, err := programs.Commit(t.Context(), dir)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{12}$`, previous)
	now, err := programs.Commit(t.Context(), repository)
	require.NoError(t, err)
	require.NotEqual(t, previous, now)

	require.Equal(t, "one\n", runBinary(t, build(dir, "previous")))
	require.Equal(t, "two\n", runBinary(t, build(repository, "now")))
	require.Equal(t, "two with faults\n", runBinary(t, build(repository, "faults", "fault")))

	require.NoError(t, remove())
	require.NoError(t, remove(), "again")
	require.NoDirExists(t, dir)
	cmd := exec.Command("git", "worktree", "list")
	cmd.Dir = repository
	listed, err := cmd.Output()
	require.NoError(t, err)
	require.NotContains(t, string(listed), dir)
}

func TestTreeWithChangesIsNamedDirty(t *testing.T) {
	t.Parallel()
	repository := newRepository(t)
	require.NoError(t, os.WriteFile(filepath.Join(repository, "main.go"), []byte("package main\n"), 0o600))
	name, err := programs.Commit(t.Context(), repository)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{12}-dirty$`, name)
}

func TestFailedBuildSaysWhy(t *testing.T) {
	t.Parallel()
	repository := newRepository(t)
	require.NoError(t, os.WriteFile(filepath.Join(repository, "main.go"), []byte("package main\nfunc main() { unheard() }\n"), 0o600))
	_, err := programs.Build(t.Context(), programs.BuildOptions{Dir: repository, Out: filepath.Join(t.TempDir(), "x"), Package: "."})
	require.ErrorContains(t, err, "undefined: unheard")
	_, _, err = programs.Worktree(t.Context(), repository, "--nothing")
	require.ErrorContains(t, err, "worktree of --nothing")
}
