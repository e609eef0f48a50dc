// Package mutant reads lists of mistakes that a developer could make in the code, and makes them.
// It makes one mistake, for the test that must notice it, or builds all mistakes into one program.
// Each process of that program chooses its mistake when it starts.
//
// The repository's files stay unchanged. The go command reads changed files from an overlay.
package mutant

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Mutant is one possible mistake. Its tests must notice it, or its schedule for hookstorm, or both.
type Mutant struct {
	Name  string
	Why   string // why the mistake matters, in one sentence
	Edits []Edit
	Suite Suite // zero if only a schedule notices it
	// Schedule describes how hookstorm makes real processes show the mistake.
	Schedule string
	// Hangs is true if the mutant makes a test hang instead of fail. Exceeding the time limit then
	// also counts as killed.
	Hangs bool
	Limit time.Duration // limit of its tests; 0 means the limit of the command
	At    string        // file and line of the entry in the list
}

// Edit is one change to a file below the root.
type Edit struct {
	File          string
	Find, Replace string
}

// Suite is a set of tests of one package.
type Suite struct {
	Pkg string // the package as an argument of go test: ./outbox
	Run string // the tests as an argument of -run
}

// Stale returns an error if the mutant can no longer be made from the files below root. It also
// returns an error if one of the mutant's tests no longer exists.
func (m *Mutant) Stale(root string) error {
	_, err := m.Mutated(root)
	if err != nil {
		return err
	}
	if m.Suite.Pkg == "" {
		return nil
	}
	return m.Suite.exists(root)
}

// Mutated returns the contents of the files that the mutant changes, by path below root.
func (m *Mutant) Mutated(root string) (map[string]string, error) {
	changed := make(tree, len(m.Edits))
	for _, e := range m.Edits {
		if err := changed.edit(root, e, "true"); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// tree holds the contents of changed files, by path below the root.
type tree map[string]string

// chosen is the placeholder, in a replacement, for an expression that is true in processes with the
// mistake.
const chosen = "{{planted}}"

// edit makes one change, after earlier changes in the same file. isChosen is the expression that
// replaces the placeholder chosen.
func (t tree) edit(root string, e Edit, isChosen string) error {
	text, again := t[e.File]
	if !again {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
		if err != nil {
			return fmt.Errorf("read the file to change: %w", err)
		}
		text = string(content)
	}
	if n := strings.Count(text, e.Find); n != 1 {
		return fmt.Errorf("%s has the text %d times instead of once:\n%s", e.File, n, e.Find)
	}
	t[e.File] = strings.Replace(text, e.Find, strings.ReplaceAll(e.Replace, chosen, isChosen), 1)
	return nil
}

// Packages returns the directories of the packages that the mutant changes.
func (m *Mutant) Packages(root string) []string {
	var dirs []string
	for _, e := range m.Edits {
		dirs = append(dirs, PackageOf(root, e.File))
	}
	return dirs
}

// PackageOf returns the nearest directory with Go files that contains a given file, itself or in a
// subdirectory. The package in that directory compiles or embeds the file.
func PackageOf(root, file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err == nil && len(found) > 0 || dir == "." || dir == "/" {
			return dir
		}
	}
}

var declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

// exists returns nil if the package declares all tests of the suite. Otherwise, its error names the
// missing tests.
func (s Suite) exists(root string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(s.Pkg), "*_test.go"))
	if err != nil {
		return fmt.Errorf("find tests: %w", err)
	}
	declared := make(map[string]bool)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read tests: %w", err)
		}
		for _, match := range declaredTest.FindAllStringSubmatch(string(source), -1) {
			declared[match[1]] = true
		}
	}
	var missing []error
	for _, name := range s.Names() {
		if !declared[name] {
			missing = append(missing, fmt.Errorf("%s has no test %s", s.Pkg, name))
		}
	}
	return errors.Join(missing...)
}

// SuiteOf builds the -run argument from names: TestName, or TestName/part/part for subtests.
func SuiteOf(pkg string, tests []string) Suite {
	patterns := make([]string, 0, len(tests))
	for _, test := range tests {
		parts := strings.Split(test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	return Suite{Pkg: pkg, Run: strings.Join(patterns, "|")}
}

// Names returns the suite's tests without their subtests.
func (s Suite) Names() []string {
	var names []string
	for pattern := range strings.SplitSeq(s.Run, "|") {
		name, _, _ := strings.Cut(pattern, "/")
		names = append(names, strings.Trim(name, "^$"))
	}
	return names
}

func (s Suite) String() string { return s.Pkg + " -run '" + s.Run + "'" }
