package alarm

import (
	"slices"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Target is a destination to notify of alerts.
type Target struct {
	// Destination is the name of a destination that workers have registered. The name contains no
	// space.
	Destination string
	// Request renders a message for that destination.
	Request func(m Message) (ledger.Request, error)
	// Team limits the target to alerts of this team. If empty, the target receives alerts without a
	// team, and alerts that no target of their team takes.
	Team string
	// Severities are the severities that the target receives. If empty, page and ticket.
	Severities []Severity
}

// takes reports whether the target receives alerts of a severity and team.
func (t Target) takes(severity Severity, team string) bool {
	severities := t.Severities
	if len(severities) == 0 {
		severities = []Severity{Page, Ticket}
	}
	return t.Team == team && slices.Contains(severities, severity)
}

// targetsOf returns the indexes of an alert's targets in Options.To. These are the targets of the
// alert's team that take the alert's severity. If there are none, these are the targets without a
// team that take that severity.
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
