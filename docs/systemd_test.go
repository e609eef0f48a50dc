package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxExposure is the highest exposure level, from 0 to 100, that systemd-analyze may report for the
// service.
const maxExposure = "20"

// The units are sound without changes, and with each addition that docs/systemd.md shows.
func TestTheUnitsAreSound(t *testing.T) {
	t.Parallel()
	page := pages(t)["../docs/systemd.md"]
	additions := regexp.MustCompile("(?ms)^```ini\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	require.Len(t, additions, 2)
	require.Contains(t, additions[0][1], "\nStateDirectory=hooklatch-export\n")
	require.Contains(t, page, "\nretention: {export: {directory: /var/lib/hooklatch-export}}\n")
	requireSoundUnits(t, "")
	for _, addition := range additions {
		requireSoundUnits(t, addition[1])
	}
}

// requireSoundUnits checks the units together with an addition, in the file to which systemctl edit
// would write it. An empty addition means none.
func requireSoundUnits(t *testing.T, addition string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed here")
	}
	program, err := exec.LookPath("true") // in place of Hooklatch, which only its package installs
	require.NoError(t, err)
	units, err := filepath.Glob("systemd/*")
	require.NoError(t, err)
	require.NotEmpty(t, units)
	dir := t.TempDir()
	for i, unit := range units {
		text, err := os.ReadFile(unit)
		require.NoError(t, err)
		units[i] = filepath.Join(dir, filepath.Base(unit))
		require.NoError(t, os.WriteFile(units[i], []byte(strings.ReplaceAll(string(text), "/usr/bin/hooklatch", program)), 0o600))
	}
	if addition != "" {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "hooklatch.service.d"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hooklatch.service.d", "override.conf"), []byte(addition), 0o600))
	}
	// systemd-analyze exits with 0 for unknown keys and bad values, and only prints them.
	out, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
	out, err = exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold="+maxExposure, filepath.Join(dir, "hooklatch.service")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
