package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/page"
)

// Place is the section of docs/performance.md with the figures.
var Place = page.Place{
	Begin: "<!-- figures: written by hookstorm bench --publish -->",
	End:   "<!-- end of figures -->",
}

// SizingPlace is the section with the sizing, which is computed from the figures.
var SizingPlace = page.Place{
	Begin: "<!-- sizing: written by hookstorm bench --publish -->",
	End:   "<!-- end of sizing -->",
}

// Publish replaces the report in the page at path and, if the run measured full lifecycles, the
// sizing. If picture is not empty, the report shows the picture at that path.
func (r *Report) Publish(path, picture string) error {
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		return err
	}
	if picture != "" {
		from, err := filepath.Rel(filepath.Dir(path), picture)
		if err != nil {
			return fmt.Errorf("find the picture from the page: %w", err)
		}
		fmt.Fprintf(&text, "\n![Rates, and the CPU of an event](%s)\n", filepath.ToSlash(from))
	}
	if err := Place.Fill(path, "\n"+text.String()+"\n"); err != nil {
		return err
	}
	if sizing := r.Sizing(); sizing != "" {
		return SizingPlace.Fill(path, "\n"+sizing+"\n")
	}
	return nil
}

// WriteJSON writes the report to a file.
func (r *Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil { //nolint:gosec // anyone may read it
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WritePicture writes the picture to a file.
func (r *Report) WritePicture(path string) error {
	var text strings.Builder
	if err := r.Picture(&text); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil { //nolint:gosec // anyone may read it
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
