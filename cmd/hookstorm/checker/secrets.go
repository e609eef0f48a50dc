package checker

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// Leaks reads a text, such as a process log, and reports each secret of the scenario in the text
// (I12). The reports do not repeat the secrets.
func Leaks(name string, text io.Reader) ([]Violation, error) {
	found := &leakFinder{in: text}
	if _, err := io.Copy(io.Discard, found); err != nil {
		return nil, fmt.Errorf("look for secrets in %s: %w", name, err)
	}
	j := new(judge)
	j.leaked(name, found)
	return j.violations, nil
}

func (j *judge) leaked(where string, found *leakFinder) {
	for _, leak := range found.leaks {
		j.violated("I12", where, fmt.Sprintf("line %d has the secret of source %s", leak.line, leak.source))
	}
}

// leakFinder searches the text that is read through it for secrets.
type leakFinder struct {
	in      io.Reader
	secrets []wanted
	tail    []byte // the end of the text read so far, at most as long as the longest secret
	line    int    // line of the first byte after tail, from 0
	leaks   []leak
}

type wanted struct {
	source string
	value  []byte
}

type leak struct {
	source string
	line   int
}

// Read implements io.Reader.
func (f *leakFinder) Read(into []byte) (int, error) {
	if f.secrets == nil {
		for _, s := range scenario.Sources() {
			f.secrets = append(f.secrets, wanted{s.Name, []byte(s.Secret.Reveal())})
		}
		f.secrets = append(f.secrets, wanted{listed.Source, []byte(listed.Secret)}, wanted{listed.Source, []byte(listed.Token)})
	}
	n, err := f.in.Read(into)
	f.look(into[:n])
	return n, err
}

// look searches the next part and its border with the previous part. It reports each secret once.
func (f *leakFinder) look(part []byte) {
	longest := 0
	for _, s := range f.secrets {
		longest = max(longest, len(s.value))
	}
	border := slices.Concat(f.tail, part[:min(len(part), longest)])
	for i := 0; i < len(f.secrets); i++ {
		s := f.secrets[i]
		where := bytes.Index(border, s.value)
		line := f.line - bytes.Count(f.tail, []byte("\n")) + bytes.Count(border[:max(where, 0)], []byte("\n"))
		if where < 0 {
			where = bytes.Index(part, s.value)
			line = f.line + bytes.Count(part[:max(where, 0)], []byte("\n"))
		}
		if where >= 0 {
			f.leaks = append(f.leaks, leak{s.source, line + 1})
			f.secrets = slices.Delete(f.secrets, i, i+1)
			i--
		}
	}
	f.line += bytes.Count(part, []byte("\n"))
	if len(part) < longest {
		part = slices.Concat(f.tail, part)
	}
	f.tail = bytes.Clone(part[max(0, len(part)-longest):])
}
