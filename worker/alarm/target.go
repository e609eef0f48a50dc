package alarm

import (
	"slices"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Target is somebody to be told.
type Target struct {
	// Destination is one that workers have registered. It has no space in its name.
	Destination string
	// Request says it as that destination takes it.
	Request func(m Message) (ledger.Request, error)
	// Team is told what is its own, and nothing else. Empty: what is no team's.
	Team string
	// Severities are what is told. Empty: pages and tickets.
	Severities []Severity
}

// takes tells whether it is to be told.
func (t Target) takes(severity Severity, team string) bool {
	severities := t.Severities
	if len(severities) == 0 {
		severities = []Severity{Page, Ticket}
	}
	return t.Team == team && slices.Contains(severities, severity)
}

// targetsOf are those who are told of an alert: its team, or everybody without one where
// no team is meant or none of its own is listed.
func (a *Alarm) targetsOf(about Alert) []int {
	team := ""
	if a.opts.TeamOf != nil {
		team = a.opts.TeamOf(about)
	}
	for {
		var list []int
		for i, t := range a.opts.To {
			if t.takes(about.Severity, team) {
				list = append(list, i)
			}
		}
		if len(list) > 0 || team == "" {
			return list
		}
		team = ""
	}
}
