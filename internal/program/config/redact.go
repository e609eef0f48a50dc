package config

import (
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
)

const (
	defaultRedactAfter = 7 * day
	// minRedactAfter is the minimum of redact_after. It leaves time to investigate failures.
	minRedactAfter = time.Hour
)

// checkRedaction reports redactions that are not possible, and a redact_after that is too short,
// too long, or has no effect. p is nil for an unknown provider.
func (s Source) checkRedaction(d *decoder, at string, p *provider.Provider) {
	redact, after := join(at, "redact"), join(at, "redact_after")
	d.checkPointers(redact, s.Redact)
	if len(s.Redact) > 0 && p != nil && p.OtherBodies != "" {
		d.reportf(redact, "is not possible for provider %s: its bodies may be %s, in which no pointer finds a value", p.Name, p.OtherBodies)
	}
	_, given := d.origin.lines[after]
	switch {
	case given && len(s.Redact) == 0:
		d.reportf(after, "%s has no effect without redact", FormatDuration(s.RedactAfter))
	case given && s.RedactAfter < minRedactAfter && !d.reported(after):
		d.reportf(after, "%s is too short; it must be at least %s", FormatDuration(s.RedactAfter), FormatDuration(minRedactAfter))
	case given && s.RedactAfter >= s.Retention.Dedup && s.Retention.Dedup > 0:
		d.reportf(after, "%s is too long; it must be shorter than %s, for which the event is kept: without the event, its effects are not redacted",
			FormatDuration(s.RedactAfter), FormatDuration(s.Retention.Dedup))
	}
}

// checkSearch reports invalid pointers, and more pointers than are allowed.
func (s Source) checkSearch(d *decoder, at string) {
	search := join(at, "search")
	d.checkPointers(search, s.Search)
	if n := len(s.Search); n > payload.MaxSearchPointers {
		d.reportf(search, "has %d pointers; allowed: at most %d", n, payload.MaxSearchPointers)
	}
}

// checkPointers reports texts that are not JSON pointers to a part of an event.
func (d *decoder) checkPointers(path string, pointers []string) {
	for _, pointer := range pointers {
		if !isPointer(pointer) {
			d.reportf(path, "%s is not a JSON pointer; allowed: one like /data/object/email, with ~1 for a slash and ~0 for a tilde in a name, or /From for a form field",
				d.show(path, pointer))
		}
	}
}

// isPointer reports whether a text is a JSON pointer to a part of a document.
func isPointer(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(text), "~")
}
