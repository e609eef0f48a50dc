package alarm

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/measure"
)

// Severity is how urgent it is.
type Severity string

// The severities.
const (
	Page   Severity = "page"   // now: events or effects are late, or about to be lost
	Ticket Severity = "ticket" // today: a person has to decide
	Notice Severity = "notice" // worth knowing
)

// Alert is something that needs a person.
type Alert struct {
	// Name is that of the condition. Subject is the destination, source or kind of rows;
	// empty: all of it.
	Name     string   `json:"name"`
	Subject  string   `json:"subject,omitempty"`
	Severity Severity `json:"severity"`
	// Since is since when, where the rows say it. Count is of how many.
	Since time.Time `json:"since,omitzero"`
	Count int64     `json:"count,omitempty"`
	// Message is a sentence without its end. Command is what to run.
	Message string `json:"message"`
	Command string `json:"command"`

	// For is how long it must be so before anybody is told, when that is longer than
	// usual.
	For time.Duration `json:"-"`
}

// Facts are what is known.
type Facts struct {
	*measure.Snapshot

	// Recent is what was counted in the last Window.
	Recent measure.Sums
	// SizeBudget is how many bytes all tables may take. 0: nobody said.
	SizeBudget int64
}

// Judge finds what needs a person, the most urgent first.
func Judge(f Facts) []Alert {
	var all []Alert
	for _, c := range conditions {
		for _, found := range c.find(f) {
			found.Name, found.Severity, found.For = c.name, c.severity, c.lasts
			all = append(all, found)
		}
	}
	urgency := []Severity{Page, Ticket, Notice}
	slices.SortStableFunc(all, func(a, b Alert) int {
		return cmp.Or(
			cmp.Compare(slices.Index(urgency, a.Severity), slices.Index(urgency, b.Severity)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subject, b.Subject))
	})
	return all
}

// Names are those of all conditions.
func Names() []string {
	names := make([]string, 0, len(conditions))
	for _, c := range conditions {
		names = append(names, c.name)
	}
	return names
}

// SeverityOf is how urgent a condition is. Empty: there is none of that name.
func SeverityOf(name string) Severity {
	for _, c := range conditions {
		if c.name == name {
			return c.severity
		}
	}
	return ""
}
