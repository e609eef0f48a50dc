package sdktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Folders with a package.json and a lock file.
const (
	sdkPackages     = "npm"
	enqueueExample  = "../../../docs/examples/enqueue/node"
	receiverExample = "../../../docs/examples/receiver/typescript"
)

const (
	// minNode is the oldest major version of Node.js on which the SDKs run.
	minNode = 18
	// npmTimeout limits an installation. The SDKs' download is 35 MB.
	npmTimeout = 5 * time.Minute
	// keepNPM is how long an unused installation stays in the cache. The SDKs take up 220 MB.
	keepNPM = 30 * 24 * time.Hour
)

// installNPM installs the packages in folder's package.json and lock file, from the registry that
// npm is configured for. It returns a directory with the packages and copies of the scripts. If
// Node.js or npm is missing, or Node.js is too old, the test is skipped; with CI=true it fails.
func installNPM(t *testing.T, folder string, scripts ...string) string {
	t.Helper()
	requireNPM(t)
	modules := cachedModules(t, folder)
	dir := t.TempDir()
	copyFiles(t, folder, dir, append(scripts, "package.json")...)
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	return dir
}

func requireNPM(t *testing.T) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			missing("the npm packages need Node.js %d or later and npm: %v", minNode, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	require.NoError(t, err)
	version := strings.TrimSpace(string(out)) // such as v20.19.2
	digits, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	major, err := strconv.Atoi(digits)
	require.NoError(t, err)
	if major < minNode {
		missing("the npm packages need Node.js %d or later, this is %s", minNode, version)
	}
}

// cachedModules returns a node_modules directory with exactly the packages in the lock file. It
// installs them in the user's cache, unless they are already installed there.
func cachedModules(t *testing.T, folder string) string {
	t.Helper()
	cache := t.TempDir()
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "hooklatch")
	}
	require.NoError(t, os.MkdirAll(cache, 0o755))
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	require.NoError(t, err)
	sum := sha256.Sum256(lock)
	installed := filepath.Join(cache, "npm-"+hex.EncodeToString(sum[:8]))
	pruneNPM(cache)
	now := time.Now()
	if os.Chtimes(installed, now, now) == nil { // marks the installation as used: see pruneNPM
		return filepath.Join(installed, "node_modules")
	}

	// The directory gets its final name when it is complete.
	building, err := os.MkdirTemp(cache, "npm-building-") //nolint:usetesting // a rename cannot cross file systems
	require.NoError(t, err)
	defer os.RemoveAll(building)
	copyFiles(t, folder, building, "package.json", "package-lock.json", ".npmrc")
	ctx, cancel := context.WithTimeout(t.Context(), npmTimeout)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = building
	out, err := npm.CombinedOutput()
	require.NoError(t, err, "npm ci: %s", out)
	if err := os.Rename(building, installed); err != nil { // another process was faster
		require.DirExists(t, installed, "%v", err)
	}
	return filepath.Join(installed, "node_modules")
}

// pruneNPM removes installations that have been unused for longer than keepNPM. An installation
// that cannot be removed stays.
func pruneNPM(cache string) {
	entries, _ := filepath.Glob(filepath.Join(cache, "npm-*")) // the pattern is a constant
	for _, entry := range entries {
		if info, err := os.Stat(entry); err == nil && time.Since(info.ModTime()) > keepNPM {
			os.RemoveAll(entry)
		}
	}
}

func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), text, 0o600))
	}
}

// The lock files must work with any registry, so they contain no registry's URL.
func TestLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{sdkPackages, enqueueExample, receiverExample} {
		lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
		require.NoError(t, err)
		require.NotContains(t, string(lock), `"resolved"`, "run npm in the directory of .npmrc")
		require.Contains(t, string(lock), `"integrity"`)
	}
}
