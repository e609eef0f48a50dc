package alarm

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/measure"
)

// Severity is the urgency of an alert.
type Severity string

// The severities.
const (
	Page   Severity = "page"   // act now: events or effects are late, or about to be lost
	Ticket Severity = "ticket" // act today: an operator has to decide
	Notice Severity = "notice" // for information
)

// Alert is a condition that needs attention.
type Alert struct {
	// Name is the name of the condition. Subject is the destination, source, cell or kind of rows
	// that the alert concerns. An alert about the whole system has no Subject.
	Name     string   `json:"name"`
	Subject  string   `json:"subject,omitempty"`
	Severity Severity `json:"severity"`
	// Since is the time at which the condition began, if known. Count is the number of affected
	// rows, or another quantity that the message contains, such as bytes or days.
	Since time.Time `json:"since,omitzero"`
	Count int64     `json:"count,omitempty"`
	// Message is a sentence without a period. Command is the command that the operator should run.
	Message string `json:"message"`
	Command string `json:"command"`

	// For is the minimum time that the alert must fire before a notification is sent. It replaces
	// Options.For if it is longer.
	For time.Duration `json:"-"`
}

// Facts are the inputs of Judge.
type Facts struct {
	*measure.Snapshot

	// Recent contains the counts of the last Window.
	Recent measure.Sums
	// SizeBudget is the intended maximum size of all tables in bytes. If 0, no alert watches the size.
	SizeBudget int64
	// Away are the names of the unavailable cells.
	Away []string
}

// Judge returns the alerts that fire, most urgent first.
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

// Names returns the names of all conditions.
func Names() []string {
	names := make([]string, 0, len(conditions))
	for _, c := range conditions {
		names = append(names, c.name)
	}
	return names
}

// SeverityOf returns the severity of a condition, or "" if none has that name.
func SeverityOf(name string) Severity {
	for _, c := range conditions {
		if c.name == name {
			return c.severity
		}
	}
	return ""
}
