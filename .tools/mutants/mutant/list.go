package mutant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ReadList reads the *.mutants files in the given directories. The command's README.md describes
// the format.
func ReadList(dirs ...string) ([]Mutant, error) {
	var files []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*.mutants"))
		if err != nil {
			return nil, fmt.Errorf("find lists: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no *.mutants in %s", dir)
		}
		files = append(files, found...)
	}
	var all []Mutant
	at := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read list: %w", err)
		}
		mutants, err := Parse(file, string(text))
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			if other, twice := at[m.Name]; twice {
				return nil, fmt.Errorf("%s: %s is also the name of the mutant at %s", m.At, m.Name, other)
			}
			at[m.Name] = m.At
		}
		all = append(all, mutants...)
	}
	return all, nil
}

// Parse returns the mutants in text, the content of one file of the list. Its errors begin with the
// file and line.
func Parse(file, text string) ([]Mutant, error) {
	var all []Mutant
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		word, rest, _ := strings.Cut(line, " ")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if word == "mutant" {
			all = append(all, Mutant{Name: strings.TrimSpace(rest), At: at})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s: before the first mutant: %s", at, line)
		}
		if err := all[len(all)-1].read(line, word, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, m := range all {
		if err := m.validate(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.At, m.Name, err)
		}
	}
	return all, nil
}

// read parses one line of the entry.
func (m *Mutant) read(line, word, rest string) error {
	switch {
	case line[0] == '-' || line[0] == '+':
		if len(m.Edits) == 0 {
			return errors.New("a change without a file")
		}
		e := &m.Edits[len(m.Edits)-1]
		if line[0] == '+' {
			e.Replace = joined(e.Replace, line[1:])
			return nil
		}
		if e.Replace != "" {
			return errors.New("a - line follows a + line: begin another change with its file")
		}
		e.Find = joined(e.Find, line[1:])
	case word == "why":
		m.Why = strings.TrimSpace(m.Why + " " + rest)
	case word == "file":
		m.Edits = append(m.Edits, Edit{File: rest})
	case word == "test":
		fields := strings.Fields(rest)
		if len(fields) < 2 || m.Suite.Pkg != "" {
			return errors.New("want one package and the names of its tests")
		}
		m.Suite = SuiteOf(fields[0], fields[1:])
	case word == "schedule":
		m.Schedule = strings.TrimSpace(m.Schedule + " " + rest)
	case word == "limit":
		var err error
		if m.Limit, err = time.ParseDuration(rest); err != nil {
			return fmt.Errorf("limit: %w", err)
		}
	case line == "hangs":
		m.Hangs = true
	default:
		return fmt.Errorf("unknown line: %s", line)
	}
	return nil
}

// joined appends a line to a text, after a line break unless the text is empty.
func joined(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func (m *Mutant) validate() error {
	switch {
	case m.Name == "" || strings.ContainsAny(m.Name, " \t"):
		return errors.New("want a name of one word")
	case m.Why == "":
		return errors.New("does not say why it matters")
	case len(m.Edits) == 0:
		return errors.New("changes nothing")
	case m.Suite.Pkg == "" && m.Schedule == "":
		return errors.New("names neither a test nor a schedule")
	}
	for _, e := range m.Edits {
		if e.Find == "" || e.Find == e.Replace {
			return fmt.Errorf("does not change %s", e.File)
		}
	}
	return nil
}
