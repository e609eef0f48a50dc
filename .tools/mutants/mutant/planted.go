package mutant

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Environment is the variable that chooses the mistake of a process built from Planted. If the
// variable is empty, the process behaves as if it had been built without the overlay.
const Environment = "HOOKLATCH_PLANTED"

// plantedPackage exists only in the overlay.
const plantedPackage = "planted"

// statementReader is the edit that makes each process read the SQL statements as its mistake
// changes them.
var statementReader = Edit{
	File: "internal/statement/compile.go",
	Find: "func (f folder) read(file string) ([]byte, error) {\n",
	Replace: `func (f folder) read(file string) ([]byte, error) {
	text, err := f.readHonest(file)
	return planted.Statement(text), err
}

func (f folder) readHonest(file string) ([]byte, error) {
`,
}

// Planted returns the contents of files, by path below root, with which one build contains all
// mistakes. Each process chooses one of them by Environment. Without mistakes, Planted returns nil.
//
// Mistakes in Go files are made one after another and must mark with {{planted}} where they
// depend on the choice. Mistakes in statements replace the statements when they are read.
func Planted(root string, all []Mutant) (map[string]string, error) {
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // without mistakes nothing changes
	}
	changed := make(tree)
	wrong := make(map[string]map[string]string, len(all)) // changed statements, by mistake and original text
	for _, m := range all {
		var err error
		if wrong[m.Name], err = changed.plant(root, m); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.At, m.Name, err)
		}
	}
	if err := changed.edit(root, statementReader, ""); err != nil {
		return nil, err
	}
	module, err := moduleOf(root)
	if err != nil {
		return nil, err
	}
	for file, text := range changed {
		changed[file] = importing(text, path.Join(module, plantedPackage))
	}
	changed[path.Join(plantedPackage, "planted.go")] = fmt.Sprintf(plantedSource, Environment, wrong)
	return changed, nil
}

// plant makes a mutant's changes to Go files, and returns its changed statements by original text.
func (t tree) plant(root string, m Mutant) (map[string]string, error) {
	var depends, inGo bool
	statements := Mutant{Name: m.Name}
	for _, e := range m.Edits {
		if path.Ext(e.File) == ".sql" {
			statements.Edits = append(statements.Edits, e)
			continue
		}
		if err := t.edit(root, e, fmt.Sprintf("%s.Is(%q)", plantedPackage, m.Name)); err != nil {
			return nil, err
		}
		inGo = true
		depends = depends || strings.Contains(e.Replace, chosen)
	}
	if inGo && !depends {
		return nil, fmt.Errorf("does not depend on %s: every process would have it", chosen)
	}
	changed, err := statements.Mutated(root)
	if err != nil {
		return nil, err
	}
	wrong := make(map[string]string, len(changed))
	for file, text := range changed {
		honest, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, fmt.Errorf("read the statement to exchange: %w", err)
		}
		wrong[string(honest)] = text
	}
	return wrong, nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// importing adds an import to a Go file, on the line of its package clause, so that line numbers
// stay the same.
func importing(text, path string) string {
	at := packageClause.FindStringIndex(text)
	if at == nil {
		return text
	}
	return text[:at[1]] + fmt.Sprintf("; import %q", path) + text[at[1]:]
}

var moduleClause = regexp.MustCompile(`(?m)^module (\S+)$`)

// moduleOf returns the path of the module at root.
func moduleOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the path of the module: %w", err)
	}
	clause := moduleClause.FindSubmatch(text)
	if clause == nil {
		return "", errors.New("go.mod names no module")
	}
	return string(clause[1]), nil
}

// plantedSource is the package's text. It is a format string with two arguments: the name of the
// variable and the changed statements.
const plantedSource = `package planted

import "os"

const environment = %q

var wrong = %#v

// A process with a mistake that does not exist would prove nothing.
var chosen = func() string {
	name := os.Getenv(environment)
	if _, known := wrong[name]; name != "" && !known {
		panic(environment + "=" + name + ": there is no such mistake")
	}
	return name
}()

func Is(name string) bool { return chosen == name }

func Statement(honest []byte) []byte {
	if text, exchanged := wrong[chosen][string(honest)]; exchanged {
		return []byte(text)
	}
	return honest
}
`
