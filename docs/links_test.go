package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	namedFile   = regexp.MustCompile("`([a-z0-9_./-]+/[a-z0-9_.-]+\\.(?:go|sql|md|yaml|yml))`")
	namedTest   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z][A-Za-z0-9_]*)`")
)

// pages returns all Markdown files of the repository, by their path from the directory docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "node_modules" || name == ".git" || name == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			found[path] = string(text)
			return err
		}
		return nil
	}))
	require.NotEmpty(t, found)
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, link := range pageLink.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			at := page
			if target != "" {
				at = filepath.Join(filepath.Dir(page), target)
				_, err := os.Stat(at)
				require.NoError(t, err, "%s links to %s", page, link[1])
			}
			if anchor != "" && filepath.Ext(at) == ".md" {
				require.Contains(t, anchorsOf(all[at]), anchor, "%s links to %s", page, link[1])
			}
		}
	}
}

// anchorsOf returns the headings of a page in the form of the anchors that GitHub creates for them.
func anchorsOf(text string) []string {
	var anchors []string
	for _, heading := range pageHeading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		kept := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(heading[1]))
		anchors = append(anchors, kept)
	}
	return anchors
}

func TestContentsLeaveOutNoSection(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"operations.md", "migrate.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, section := range anchorsOf(string(text))[1:] { // without the title
			require.Contains(t, string(text), "](#"+section+")", page)
		}
	}
}

func TestEveryNamedFileExists(t *testing.T) {
	t.Parallel()
	for page, text := range pages(t) {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue // the changelog may name files that no longer exist
		}
		for _, file := range namedFile.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(file[1], "/") || strings.HasPrefix(file[1], "./") || strings.HasPrefix(file[1], ".hooklatch/") {
				continue // a file on the reader's machine
			}
			_, fromRoot := os.Stat(filepath.Join("..", file[1]))
			_, fromPage := os.Stat(filepath.Join(filepath.Dir(page), file[1]))
			require.True(t, fromRoot == nil || fromPage == nil, "%s names %s, which does not exist", page, file[1])
		}
	}
}

func TestEveryNamedTestExists(t *testing.T) {
	t.Parallel()
	functions := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)\(`)
	exist := map[string]bool{}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*_test.go")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", file))
		if os.IsNotExist(err) {
			continue // deleted, but the deletion is not committed yet
		}
		require.NoError(t, err)
		for _, f := range functions.FindAllStringSubmatch(string(text), -1) {
			exist[f[1]] = true
		}
	}
	for page, text := range pages(t) {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue
		}
		for _, name := range namedTest.FindAllStringSubmatch(text, -1) {
			require.True(t, exist[name[1]], "%s names %s, which does not exist", page, name[1])
		}
	}
	// go test -run passes if no test has the name.
	script, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(script), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.True(t, exist[name], ".ci/run names %s, which does not exist", name)
	}
}
