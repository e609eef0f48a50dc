package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The list is read from files whose form README.md explains.

// readList reads every file of a directory.
func readList(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.mutants"))
	if err != nil {
		return nil, fmt.Errorf("find lists: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no *.mutants in %s", dir)
	}
	var all []mutant
	at := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read list: %w", err)
		}
		mutants, err := parseList(file, string(text))
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			if other, twice := at[m.name]; twice {
				return nil, fmt.Errorf("%s: %s is also the name of that at %s", m.at, m.name, other)
			}
			at[m.name] = m.at
		}
		all = append(all, mutants...)
	}
	return all, nil
}

// parseList reads one file of the list.
func parseList(file, text string) ([]mutant, error) {
	var all []mutant
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		word, rest, _ := strings.Cut(line, " ")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if word == "mutant" {
			all = append(all, mutant{name: strings.TrimSpace(rest), at: at})
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
			return nil, fmt.Errorf("%s: %s: %w", m.at, m.name, err)
		}
	}
	return all, nil
}

// read takes one line of the entry.
func (m *mutant) read(line, word, rest string) error {
	switch {
	case line[0] == '-' || line[0] == '+':
		if len(m.edits) == 0 {
			return errors.New("a change without a file")
		}
		e := &m.edits[len(m.edits)-1]
		if line[0] == '+' {
			e.replace = joined(e.replace, line[1:])
			return nil
		}
		if e.replace != "" {
			return errors.New("found text after its replacement: another change begins with its file")
		}
		e.find = joined(e.find, line[1:])
	case word == "why":
		m.why = strings.TrimSpace(m.why + " " + rest)
	case word == "file":
		m.edits = append(m.edits, edit{file: rest})
	case word == "test":
		fields := strings.Fields(rest)
		if len(fields) < 2 || m.suite.pkg != "" {
			return errors.New("want one package and the names of its tests")
		}
		m.suite = suiteOf(fields[0], fields[1:])
	case word == "limit":
		var err error
		if m.limit, err = time.ParseDuration(rest); err != nil {
			return fmt.Errorf("limit: %w", err)
		}
	case line == "hangs":
		m.hangs = true
	default:
		return fmt.Errorf("unknown line: %s", line)
	}
	return nil
}

// joined adds a line to a text; the first line of a change has none before it.
func joined(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func (m *mutant) validate() error {
	switch {
	case m.name == "" || strings.ContainsAny(m.name, " \t"):
		return errors.New("want a name of one word")
	case m.why == "":
		return errors.New("does not say why it matters")
	case len(m.edits) == 0:
		return errors.New("changes nothing")
	case m.suite.pkg == "":
		return errors.New("names no test")
	}
	for _, e := range m.edits {
		if e.find == "" || e.find == e.replace {
			return fmt.Errorf("does not change %s", e.file)
		}
	}
	return nil
}
