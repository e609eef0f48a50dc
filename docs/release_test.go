package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// inClone is a test that runs the release scripts in a clone.
type inClone struct {
	*testing.T
	dir string
}

// newClone creates a small repository with the release scripts, at the tag v0.1.0. A stub replaces
// .ci/image and writes an empty image.
func newClone(t *testing.T) inClone {
	t.Helper()
	c := inClone{t, t.TempDir()}
	for _, name := range []string{".ci/release", ".ci/release-notes", ".ci/reproduce"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		c.write(name, string(text))
	}
	c.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- Later.\n\n## [0.1.0]\n\nThe first,\nsee [it](docs/it.md).\n\n- One\n  item.\n- Two.\n\n## [0.0.9]\n\n- Before.\n")
	c.write(".ci/image", "mkdir -p $1/image/blobs/sha256 && echo '{\"digest\": \"sha256:0a\"}' >$1/image/index.json && echo >$1/image/oci-layout\n")
	c.write(".gitignore", "/dist/\n/material/\n")
	c.write("cmd/hooklatch/licenses.txt", "")
	c.git("init", "-q")
	c.git("add", ".")
	c.git("commit", "-q", "-m", "First")
	c.git("tag", "v0.1.0")
	return c
}

func (c inClone) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(c, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(c, os.WriteFile(path, []byte(text), 0o600))
}

func (c inClone) git(args ...string) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	require.NoError(c, err, "%s", out)
}

// run runs bash with the arguments, and returns the output. The programs in testdata/programs
// replace the programs of the same names.
func (c inClone) run(args ...string) (string, error) {
	cmd := exec.CommandContext(c.Context(), "bash", args...)
	cmd.Dir = c.dir
	programs, err := filepath.Abs("testdata/programs")
	if err != nil {
		return "", err
	}
	cmd.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// refuses runs the release script, which must fail with the given sentence before it builds
// anything.
func (c inClone) refuses(version, sentence string) {
	c.Helper()
	out, err := c.run(".ci/release", version)
	require.Error(c, err)
	require.Contains(c, out, sentence)
	require.NoDirExists(c, filepath.Join(c.dir, "material"))
}

func TestAReleaseIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.refuses("0.1.0", "must look like v0.1.0")
	c.refuses("v0.2.0", "CHANGELOG.md has no section ## [0.2.0]: write what users get in v0.2.0")
	c.refuses("v0.0.9", "v0.0.9 is not a tag of the commit at hand: check out the tag, or run git tag v0.0.9")
	c.write("left", "")
	c.refuses("v0.1.0", "the tree has changes that are not committed; commit or remove them:\n?? left")
	c.git("add", ".")
	c.git("commit", "-q", "-m", "Second")
	c.refuses("v0.1.0", "v0.1.0 is not a tag of the commit at hand")
	worktree := inClone{t, filepath.Join(t.TempDir(), "worktree")}
	c.git("worktree", "add", "-q", worktree.dir, "v0.1.0")
	worktree.refuses("v0.1.0", "run git clone, and bash .ci/release there")
}

func TestTheNotesOfAReleaseAreItsSection(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	for _, tag := range []string{"v0.1.0", "v0.1.0-rc.1"} {
		out, err := c.run(".ci/release-notes", tag)
		require.NoError(t, err, out)
		require.Equal(t, "The first, see [it](https://github.com/hooklatch/hooklatch/blob/"+tag+"/docs/it.md).\n\n- One item.\n- Two.\n", out)
	}
	// The newest version in the changelog has notes. The notes contain no relative link, and no
	// paragraph of several lines.
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(pages(t)["../CHANGELOG.md"])
	require.NotNil(t, newest)
	out, err := inClone{t, ".."}.run(".ci/release-notes", "v"+newest[1])
	require.NoError(t, err, out)
	require.NotRegexp(t, `\]\([a-zA-Z.]+/`, out, "a relative link")
	require.NotRegexp(t, `(?m)^  [^-]`, out, "a paragraph of several lines")
}

// releases runs the release script, which must succeed, and returns the directory with the files.
func (c inClone) releases(version string) string {
	c.Helper()
	if runtime.GOOS != "linux" {
		c.Skip("releases are built on Linux")
	}
	out, err := c.run(".ci/release", version, "files")
	require.NoError(c, err, out)
	return filepath.Join(c.dir, "dist")
}

// A commit may have the tag of a release and the tag of its candidate.
func TestAReleaseHasTheVersionOfItsTag(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.git("tag", "v0.1.0-rc.1")
	c.refuses("v0.1.0-rc.1", "the commit also has the tag v0.1.0, whose version Go would put into the binary")
	require.FileExists(t, filepath.Join(c.releases("v0.1.0"), "hooklatch_0.1.0_linux_amd64.deb"))

	// The candidate is built while the other tag does not exist. A second build, when the tag
	// exists, gives the same bytes.
	c.git("tag", "-d", "v0.1.0")
	candidate := filepath.Join(t.TempDir(), "candidate")
	require.NoError(t, os.Rename(c.releases("v0.1.0-rc.1"), candidate))
	require.FileExists(t, filepath.Join(candidate, "hooklatch_0.1.0-rc.1_linux_amd64.deb"))
	c.git("tag", "v0.1.0")
	out, err := c.run(".ci/reproduce", "v0.1.0-rc.1", candidate)
	require.NoError(t, err, out)
}

func TestACandidateNeverBecomesTheLatestRelease(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.github/workflows/release.yml")
	require.NoError(t, err)
	var w workflow
	require.NoError(t, yaml.Unmarshal(text, &w))
	steps := w.Jobs["publish"].Steps
	create := steps[len(steps)-1].Run
	for tag, candidate := range map[string]bool{"v0.2.0": false, "v0.2.0-rc.1": true} {
		out, err := inClone{t, t.TempDir()}.run("-ec", "GITHUB_REF_NAME="+tag+"\n"+create)
		require.NoError(t, err, out)
		require.Contains(t, out, "gh release create "+tag+" --draft ")
		require.Equal(t, candidate, strings.Contains(out, " --prerelease "), out)
	}
}

// A maintainer publishes the image and the formula from files of the draft, with the commands in
// docs/releasing.md.
func TestAMaintainerPublishesTheVerifiedImage(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile("(?ms)^```sh\n(sha256sum .*?)^```$").FindStringSubmatch(pages(t)["../docs/releasing.md"])
	require.NotNil(t, commands)
	publish := "set -eu\n" + strings.ReplaceAll(commands[1], "0.2.0", "0.1.0")
	dist := newClone(t).releases("v0.1.0")
	sums, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	require.NoError(t, err)
	draft := inClone{t, t.TempDir()}
	draft.write("checksums.txt", string(sums))
	uploaded, err := filepath.Glob(filepath.Join(dist, "hooklatch_[0-9]*")) // as in release.yml
	require.NoError(t, err)
	for _, file := range uploaded {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		draft.write(filepath.Base(file), string(text))
		require.Contains(t, string(sums), "  "+filepath.Base(file)+"\n")
	}
	require.FileExists(t, filepath.Join(draft.dir, "hooklatch_0.1.0_homebrew.rb"))

	out, err := draft.run("-c", publish)
	require.NoError(t, err, out)
	require.Regexp(t, "(?m)^sha256:0a$", out, "the digest")
	require.NoError(t, os.RemoveAll(filepath.Join(draft.dir, "image")))
	draft.write("hooklatch_0.1.0_image.tar", "an image of another commit")
	out, err = draft.run("-c", publish)
	require.Error(t, err)
	require.Contains(t, out, "hooklatch_0.1.0_image.tar: FAILED")
}

// releaseFiles are the files that name the newest release. docs/releasing.md lists those that a
// maintainer edits.
var releaseFiles = []string{
	"compose.yaml", "docs/docker.md", "docs/install.md", "docs/verify.md",
	"docs/kubernetes/chart/Chart.yaml", "docs/kubernetes/manifests/hooklatch.yaml",
}

var namedRelease = regexp.MustCompile("(?:hooklatch[:_]|refs/tags/v|\\.ci/reproduce v|[vV]ersion: |such as `|for version )(\\d+\\.\\d+\\.\\d+)")

func TestEveryFileNamesTheNewestRelease(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(texts["../CHANGELOG.md"])
	require.NotNil(t, newest)
	delete(texts, "../docs/releasing.md") // the page shows the release of a later version
	for _, name := range releaseFiles {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.Regexp(t, namedRelease, string(text), name)
		texts[filepath.Join("..", name)] = string(text)
	}
	for name, text := range texts {
		for _, named := range namedRelease.FindAllStringSubmatch(text, -1) {
			require.Equal(t, newest[1], named[1], "%s: %s", name, named[0])
		}
	}
}

// unknown is the placeholder for the commit of an action until a maintainer has looked up the
// commit.
const unknown = "@0000000000000000000000000000000000000000"

// The workflow creates a draft release, and every job that may write waits for a maintainer's
// approval. docs/releasing.md lists the actions whose commits a maintainer must look up before the
// approval.
func TestAReleaseWaitsForAPerson(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.github/workflows/release.yml")
	require.NoError(t, err)
	var w struct {
		On   map[string]map[string][]string `yaml:"on"`
		Jobs map[string]struct {
			Environment string            `yaml:"environment"`
			Permissions map[string]string `yaml:"permissions"`
		} `yaml:"jobs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &w))
	require.Equal(t, map[string]map[string][]string{"push": {"tags": {"v*"}}}, w.On, "only a tag starts a release")
	for name, job := range w.Jobs {
		if !maps.Equal(job.Permissions, map[string]string{"contents": "read"}) {
			require.Equal(t, "release", job.Environment, "%s may write, so a maintainer must approve it", name)
		}
	}
	require.Contains(t, string(text), "gh release create \"$GITHUB_REF_NAME\" --draft")

	files, err := filepath.Glob("../.github/workflows/*.y*ml")
	require.NoError(t, err)
	wanted := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`uses: (\S+)`+unknown).FindAllStringSubmatch(string(text), -1) {
			wanted[match[1]] = true
		}
	}
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\|").FindAllStringSubmatch(pages(t)["../docs/releasing.md"], -1) {
		listed[match[1]] = true
	}
	require.Equal(t, wanted, listed, "docs/releasing.md must list the actions whose commit is unknown")
}

// Only a release runs .ci/systemd-test, which replaces the empty sections of the packaged
// configuration. This test runs that part of the script for every commit.
func TestTheServiceIsTestedWithAValidConfiguration(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../.ci/systemd-test")
	require.NoError(t, err)
	replacement := regexp.MustCompile(`(?ms)^sed -i .*?^END$`).Find(script)
	require.NotEmpty(t, replacement)
	packaged, err := os.ReadFile("../.ci/packages/hooklatch.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, packaged, 0o600))
	for name, secret := range map[string]string{"database-url": "postgres://localhost/hooklatch", "admin-token": environmentSecret} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}

	cmd := exec.CommandContext(t.Context(), "bash", "-euc", "fail() { echo \"$*\"; exit 1; }\n"+string(replacement))
	cmd.Env = append(os.Environ(), "config="+path, "secret="+environmentSecret)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cfg, err := config.Load(path, func(name string) (string, bool) { return dir, name == "CREDENTIALS_DIRECTORY" })
	require.NoError(t, err)
	require.Len(t, cfg.Sources, 1)
	require.Len(t, cfg.Routes, 1)
}

// dpkg passes the previous version to the script if it upgrades the package. It also does so if it
// installs the package again after a removal, which disabled the service. rpm passes the number of
// installed versions.
func TestThePackageSaysHowTheServiceStarts(t *testing.T) {
	t.Parallel()
	const (
		migrate = "hooklatch migrate up --config /etc/hooklatch/hooklatch.yaml"
		enable  = "systemctl enable --now hooklatch.socket hooklatch.service"
		restart = "systemctl restart hooklatch"
		running = "keeps running"
	)
	for _, one := range []struct {
		when, command    string
		says, doesNotSay []string
	}{
		{"first installation, dpkg", "ACTIVE= sh after-install configure ''", []string{"does not run yet", enable}, []string{migrate, restart, running}},
		{"first installation, rpm", "ACTIVE= sh after-install 1", []string{"does not run yet", enable}, []string{migrate, restart, running}},
		{"upgrade, dpkg", "ACTIVE=1 sh after-install configure 0.1.0", []string{migrate, restart, running}, []string{enable}},
		{"upgrade, rpm", "ACTIVE=1 sh after-install 2", []string{migrate, restart, running}, []string{enable}},
		{"installation after a removal, dpkg", "ACTIVE= sh after-install configure 0.1.0", []string{"hooklatch.service does not run", migrate, enable}, []string{restart, running}},
	} {
		out, err := inClone{t, "../.ci/packages"}.run("-c", one.command)
		require.NoError(t, err, one.when)
		for _, text := range one.says {
			require.Contains(t, out, text, one.when)
		}
		for _, text := range one.doesNotSay {
			require.NotContains(t, out, text, one.when)
		}
	}
}
