// Package page writes the parts of documentation pages that hookstorm's commands generate.
package page

import (
	"fmt"
	"os"
	"strings"
)

// Place is the part of a page between two marker lines.
type Place struct {
	Begin, End string
}

// Fill replaces the text between the markers.
func (p Place) Fill(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	before, rest, begins := strings.Cut(string(old), p.Begin)
	_, after, ends := strings.Cut(rest, p.End)
	if !begins || !ends {
		return fmt.Errorf("%s has no section between the lines %q and %q", path, p.Begin, p.End)
	}
	if err := os.WriteFile(path, []byte(before+p.Begin+"\n"+text+p.End+after), 0o644); err != nil { //nolint:gosec // anyone may read the page
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
