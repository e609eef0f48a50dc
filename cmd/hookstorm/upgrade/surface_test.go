package upgrade_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/upgrade"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

const root = "../../.."

// previous returns a source tree of the previous version.
func previous(t *testing.T) (dir string) {
	t.Helper()
	shallow, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
	if err != nil || string(shallow) != "false\n" {
		t.Skip("this is no clone with all of the history, so it may lack the previous version")
	}
	dir, remove, err := programs.Worktree(t.Context(), root, upgrade.Previous)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remove()) })
	return dir
}

// Scripts, configurations and dashboards of the previous version find everything that they use.
func TestNothingThatUsersRelyOnIsGone(t *testing.T) {
	t.Parallel()
	before, err := upgrade.SurfaceOf(previous(t))
	require.NoError(t, err)
	now, err := upgrade.SurfaceOf(root)
	require.NoError(t, err)
	for _, deprecated := range config.DeprecatedKeys() {
		now["setting "+deprecated.Path] = deprecated.Removed == ""
	}
	require.Empty(t, before.Without(now), "keep the old name, with a warning, until the next minor version has been released")
}

// The comparison finds a renamed item of each kind.
func TestARenamedThingIsFound(t *testing.T) {
	t.Parallel()
	before, err := upgrade.SurfaceOf(root)
	require.NoError(t, err)
	for _, renamed := range []struct{ file, old, instead, want string }{
		{"cmd/hooklatch/testdata/help/hooklatch-events-list.txt", "--contains", "--including", "flag hooklatch events list --contains"},
		{"cmd/hooklatch/testdata/json/events_list.json", `"duplicates"`, `"repeats"`, "json events_list[].duplicates"},
		{"docs/config.schema.json", `"drain_timeout"`, `"drain_limit"`, "setting gateway.drain_timeout"},
		{"internal/program/console/api/openapi.yaml", "  /api/events:\n", "  /api/deliveries:\n", "operation GET /api/events"},
		{"docs/telemetry.md", "`hooklatch.rejected`", "`hooklatch.refused`", "metric hooklatch.rejected"},
	} {
		tree := t.TempDir()
		for _, path := range []string{"cmd/hooklatch/testdata/help", "cmd/hooklatch/testdata/json", "internal/program/console/api"} {
			require.NoError(t, os.CopyFS(filepath.Join(tree, path), os.DirFS(filepath.Join(root, path))))
		}
		require.NoError(t, os.Mkdir(filepath.Join(tree, "docs"), 0o700))
		for _, path := range []string{"docs/config.schema.json", "docs/telemetry.md"} {
			text, err := os.ReadFile(filepath.Join(root, path))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(tree, path), text, 0o600))
		}
		path := filepath.Join(tree, renamed.file)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), renamed.old)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), renamed.old, renamed.instead)), 0o600))
		now, err := upgrade.SurfaceOf(tree)
		require.NoError(t, err)
		require.Contains(t, before.Without(now), renamed.want)
	}
}
