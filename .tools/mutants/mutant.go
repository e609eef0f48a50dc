package main

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

// mutant is one mistake that somebody could make, and the tests that must notice it.
type mutant struct {
	name  string
	why   string // it matters, in one sentence
	edits []edit
	suite suite
	// hangs tells that the mutant stops the program instead of answering wrongly: no
	// end within its limit kills it too.
	hangs bool
	limit time.Duration // of its tests; 0 is that of the command
	at    string        // file and line of the entry in the list
}

// edit is one change of a file below the root.
type edit struct {
	file          string
	find, replace string
}

// suite are tests of one package.
type suite struct {
	pkg string // as go test takes it: ./outbox
	run string // as -run takes it
}

// stale says why the mutant can no longer be made of the files below root; nil when
// it can.
func (m *mutant) stale(root string) error {
	_, err := m.mutated(root)
	if err != nil {
		return err
	}
	return m.suite.exists(root)
}

// mutated returns the contents of the files that the mutant changes, by path below
// root.
func (m *mutant) mutated(root string) (map[string]string, error) {
	changed := make(map[string]string, len(m.edits))
	for _, e := range m.edits {
		text, again := changed[e.file]
		if !again {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
			if err != nil {
				return nil, fmt.Errorf("read the file to change: %w", err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.find); n != 1 {
			return nil, fmt.Errorf("%s has the text %d times instead of once:\n%s", e.file, n, e.find)
		}
		changed[e.file] = strings.Replace(text, e.find, e.replace, 1)
	}
	return changed, nil
}

// packages are the directories of the packages that the mutant changes.
func (m *mutant) packages(root string) []string {
	var dirs []string
	for _, e := range m.edits {
		dirs = append(dirs, packageOf(root, e.file))
	}
	return dirs
}

// packageOf is the nearest directory above a file that has Go files: it compiles the
// file or embeds it.
func packageOf(root, file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err == nil && len(found) > 0 || dir == "." || dir == "/" {
			return dir
		}
	}
}

var declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

// exists says which test of the suite its package does not declare.
func (s suite) exists(root string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(s.pkg), "*_test.go"))
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
	for _, name := range s.names() {
		if !declared[name] {
			missing = append(missing, fmt.Errorf("%s has no test %s", s.pkg, name))
		}
	}
	return errors.Join(missing...)
}

// suiteOf makes -run of names: TestName, or TestName/part/part for subtests.
func suiteOf(pkg string, tests []string) suite {
	patterns := make([]string, 0, len(tests))
	for _, test := range tests {
		parts := strings.Split(test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	return suite{pkg: pkg, run: strings.Join(patterns, "|")}
}

// names are the tests of the suite without their parts.
func (s suite) names() []string {
	var names []string
	for pattern := range strings.SplitSeq(s.run, "|") {
		name, _, _ := strings.Cut(pattern, "/")
		names = append(names, strings.Trim(name, "^$"))
	}
	return names
}

func (s suite) String() string { return s.pkg + " -run '" + s.run + "'" }
