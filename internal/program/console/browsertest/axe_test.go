package browsertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npmTimeout limits an installation.
const npmTimeout = 5 * time.Minute

// axe is the script that checks a page for accessibility problems.
type axe struct{ script string }

// doubt is a result that axe-core cannot decide, with the reason why it is not a problem.
type doubt struct {
	rule, says string
	scrolls    bool   // true if the doubt applies only inside a scrolling table
	of         string // start of the element's HTML; empty for any element
	reason     string
}

var undecided = []doubt{
	{"color-contrast", "partially obscured by another element", true, "", "a cell beyond the edge of a table that scrolls: it has the colours of the visible cells"},
	{"color-contrast", "content is too short", false, "", "a number of one digit: it has the colours of longer numbers"},
	{"color-contrast", "contains an image node", false, "<text ", "a label of a graph: it has the page's background, and a colour of other texts there"},
}

// readAxe returns the script of axe-core. If necessary, it first installs the packages of the lock
// file in the folder npm into the user's cache, from npm's configured registry. If npm is missing,
// the test is skipped, or fails with CI=true.
func readAxe(t *testing.T) axe {
	t.Helper()
	cache := t.TempDir()
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "hooklatch")
	}
	lock, err := os.ReadFile("npm/package-lock.json")
	require.NoError(t, err)
	sum := sha256.Sum256(lock)
	installed := filepath.Join(cache, "npm-"+hex.EncodeToString(sum[:8]))
	script := filepath.Join(installed, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(script); err != nil {
		installNPM(t, cache, installed)
	}
	now := time.Now()
	require.NoError(t, os.Chtimes(installed, now, now)) // mark the installation as used: the SDK tests remove unused installations
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	return axe{string(text)}
}

func installNPM(t *testing.T, cache, installed string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("axe-core needs npm: %v", err)
		}
		t.Skipf("axe-core needs npm: %v", err)
	}
	require.NoError(t, os.MkdirAll(cache, 0o755))
	building, err := os.MkdirTemp(cache, "npm-building-") //nolint:usetesting // a rename does not cross file systems
	require.NoError(t, err)
	defer os.RemoveAll(building)
	require.NoError(t, os.CopyFS(building, os.DirFS("npm")))
	ctx, cancel := context.WithTimeout(t.Context(), npmTimeout)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = building
	out, err := npm.CombinedOutput()
	require.NoError(t, err, "npm ci: %s", out)
	if err := os.Rename(building, installed); err != nil { // another process was faster
		require.DirExists(t, installed, "%v", err)
	}
}

// finding is an element that violates, or may violate, a rule.
type finding struct {
	Rule    string `json:"rule"`
	Help    string `json:"help"`
	HTML    string `json:"html"`
	Why     string `json:"why"`
	Scrolls bool   `json:"scrolls"`
}

type findings struct {
	Violations []finding `json:"violations"`
	Incomplete []finding `json:"incomplete"`
	Passes     int       `json:"passes"`
}

// accepts requires that the selected part of the page has no accessibility problem.
func (a axe) accepts(t *testing.T, b *tab, part, scheme string, width int64) {
	t.Helper()
	eval[struct{}](t, b, a.script)
	found := eval[findings](t, b, fmt.Sprintf(`axe.run(%q).then((r) => {
		const list = (rules) => rules.flatMap(({ id, help, nodes }) => nodes.map((n) => ({
			rule: id, help, html: n.html, why: n.failureSummary, scrolls: document.querySelector(n.target[0])?.closest(".scroll") != null,
		})));
		return { violations: list(r.violations), incomplete: list(r.incomplete), passes: r.passes.length };
	})`, part))
	require.Greater(t, found.Passes, 5, "axe-core checked nothing")
	wrong := append(found.Violations, slices.DeleteFunc(found.Incomplete, finding.isNone)...)
	for _, f := range wrong {
		t.Errorf("%s, %d pixels: %s: %s\n%s\n%s", scheme, width, f.Rule, f.Help, f.HTML, f.Why)
	}
}

// isNone reports whether a finding is a known doubt, and therefore no problem.
func (f finding) isNone() bool {
	return slices.ContainsFunc(undecided, func(d doubt) bool {
		return d.rule == f.Rule && strings.Contains(f.Why, d.says) && (f.Scrolls || !d.scrolls) && strings.HasPrefix(f.HTML, d.of)
	})
}

// The lock file must work with any registry, so it contains no URL of a registry.
func TestLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("npm/package-lock.json")
	require.NoError(t, err)
	require.NotContains(t, string(lock), `"resolved"`, "run npm in the directory of .npmrc")
	require.Contains(t, string(lock), `"integrity"`)
}
