package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Read reads a report that WriteJSON wrote.
func Read(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the report %s: %w", path, err)
	}
	return r, nil
}

// Merge adds the sections that other runs measured. It returns an error if a run measured another
// commit, ran on another machine, has a section that r already has, or has no command. Each section
// and its ratios therefore come from a single run.
func (r *Report) Merge(others ...*Report) error {
	for _, other := range others {
		if other.Commit != r.Commit || other.Machine != r.Machine {
			return fmt.Errorf("a report of commit %s on %s and one of commit %s on %s cannot be compared", r.Commit, r.Machine, other.Commit, other.Machine)
		}
		known := map[string]bool{}
		for _, section := range r.sections() {
			known[section] = true
		}
		for _, s := range other.Series {
			if known[s.Section] {
				return fmt.Errorf("two reports have the section %q", s.Section)
			}
			r.Series = append(r.Series, s)
		}
		if other.Command == "" {
			return errors.New("a report has no command")
		}
		r.Command += "`, `" + other.Command
		r.Took += other.Took
		r.Stolen, r.LeftOut = append(r.Stolen, other.Stolen...), r.LeftOut+other.LeftOut
		r.Quick = r.Quick || other.Quick
		if other.Previous != "" {
			r.Previous = other.Previous
		}
		if other.filled() {
			r.Rows = other.Rows
		}
	}
	r.Judge()
	return nil
}
