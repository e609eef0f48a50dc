//go:build !failpoint

package deployment

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// A released program has its version and its licences. Failpoints are for tests: the program
// contains no failpoint code, no failpoint names, and no variable that enables failpoints.
func TestReleaseHasItsVersionAndNoFailpoints(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "hooklatch")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X main.version=v0.0.0-linked", "-o", program, "./cmd/hooklatch")
	build.Dir = repository
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	version, err := exec.CommandContext(t.Context(), program, "version").Output()
	require.NoError(t, err)
	require.Contains(t, string(version), "hooklatch v0.0.0-linked")
	licenses, err := exec.CommandContext(t.Context(), program, "licenses").Output()
	require.NoError(t, err)
	require.Equal(t, string(readFile(t, "cmd/hooklatch/licenses.txt")), string(licenses))

	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", program).Output()
	require.NoError(t, err)
	require.Contains(t, string(symbols), "github.com/hooklatch/hooklatch/outbox/commit.inTransaction", "the list of symbols is not from our program")
	for _, symbol := range []string{
		"github.com/hooklatch/hooklatch/internal/failpoint.", "github.com/hooklatch/hooklatch/internal/clock.Skew", "writeInHalves", "requestSent", "fetchedPlace", "processClock",
	} {
		require.NotContains(t, string(symbols), symbol)
	}

	text, err := os.ReadFile(program)
	require.NoError(t, err)
	for _, word := range []string{
		"HOOKLATCH_FAILPOINT", "HOOKLATCH_CLOCK", "gateway.body_read", "accept.events_inserted", "effect.request_sent", "worker.draining", "before_commit",
	} {
		require.False(t, bytes.Contains(text, []byte(word)), "the program contains %q", word)
	}
}

// The builds of released programs do not enable failpoints either.
func TestNoReleaseIsBuiltWithFailpoints(t *testing.T) {
	t.Parallel()
	built := 0
	for _, pattern := range []string{"Dockerfile", "compose.yaml", "Taskfile.yml", ".goreleaser*", ".github/workflows/release*"} {
		files, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(text), "failpoint", "%s", file)
			if bytes.Contains(text, []byte("go build")) {
				built++
			}
		}
	}
	require.NotZero(t, built, "no file that builds the program was found")
}

// `go install MODULE@VERSION` refuses a module whose go.mod has a replace directive.
func TestNothingIsReplacedInGoMod(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	require.NoError(t, err)
	file, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	require.Empty(t, file.Replace)
}
