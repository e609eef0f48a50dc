package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/chart"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// actionsOnLine is the maximum number of operator actions on the timeline.
const actionsOnLine = 200

// happening is a change or an operator action in the period for which numbers are shown.
type happening struct {
	Number int       `json:"-"` // number of the mark; entries of the same period share a mark
	Place  int       `json:"-"`
	At     time.Time `json:"at"`
	What   string    `json:"what"` // breaker_opened, breaker_closed, started, configured, or an action
	Name   string    `json:"name"` // destination, version, hash of a configuration, or an action's target
	Count  int64     `json:"count"`
	Who    string    `json:"who,omitzero"`
	Said   string    `json:"-"`
	Path   string    `json:"-"`
}

// happened reads the timeline: changes, and operator actions. Only admins see operators and
// targets; the audit page is for admins too.
func (p *numbersPage) happened(r *request) error {
	for _, c := range p.Series.Changes {
		breaker := c.What == measure.BreakerOpened || c.What == measure.BreakerClosed
		if breaker && p.Of.Destination != "" && p.Of.Destination != c.Name {
			continue
		}
		h := happening{Place: c.Place, At: c.At, What: string(c.What), Name: c.Name, Count: c.N, Said: changeInWords(c)}
		if breaker {
			h.Path = destinationPath(c.Name)
		}
		p.Line = append(p.Line, h)
	}
	asked := find.Actions{Span: find.Span{Since: p.Series.Since, Until: p.Series.Until()}}
	page, err := r.finder.Actions(r.Context(), asked, find.Beginning, actionsOnLine)
	if err != nil && !sqlstate.Is(err, sqlstate.InsufficientPrivilege) { // a gateway's role may not read operator actions
		return err
	}
	p.More = page.More || err != nil
	for _, a := range page.Rows {
		if a.Action == signin.ActionRead {
			continue
		}
		h := happening{Place: int(a.At.Sub(p.Series.Since) / p.Series.Step), At: a.At, What: string(a.Action), Count: a.Affected}
		h.Said = fmt.Sprintf("%s, %d affected", a.Action, a.Affected)
		if p.May(signin.Admin) {
			h.Name, h.Who, h.Path = a.Target, a.Who, targetPath(a)
			h.Said = fmt.Sprintf("%s by %s: %s, %d affected", a.Action, middle(a.Who), middle(a.Target), a.Affected)
		}
		p.Line = append(p.Line, h)
	}
	slices.SortStableFunc(p.Line, func(a, b happening) int { return a.At.Compare(b.At) })
	for i := range p.Line {
		switch {
		case i == 0:
			p.Line[i].Number = 1
		case p.Line[i].Place == p.Line[i-1].Place:
			p.Line[i].Number = p.Line[i-1].Number
		default:
			p.Line[i].Number = p.Line[i-1].Number + 1
		}
	}
	return nil
}

// marks returns the marks of the charts: one for each period on the timeline, with the first entry
// of the period.
func (p numbersPage) marks() (marks []chart.Mark) {
	for _, h := range p.Line {
		if last := len(marks) - 1; last < 0 || marks[last].Number != h.Number {
			marks = append(marks, chart.Mark{Place: h.Place, Number: h.Number, Title: cut(h.Said, 60, 28)})
		}
	}
	return marks
}

// changeInWords describes a change.
func changeInWords(c measure.Change) string {
	switch c.What {
	case measure.BreakerOpened:
		return "Breaker of " + c.Name + " opened"
	case measure.BreakerClosed:
		return "Breaker of " + c.Name + " closed"
	case measure.Started:
		return processes(c.N) + " started, version " + c.Name
	default:
		return "Configuration " + brief(c.Name) + " loaded by " + processes(c.N)
	}
}

func processes(n int64) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// data returns the JSON of the page.
func (p numbersPage) data() (any, error) {
	points := make([]map[string]any, len(p.Series.Periods))
	for i, period := range p.Series.Periods {
		points[i] = map[string]any{"at": p.Series.At(i), "counted": period.Counted}
		for _, l := range numbersLines() {
			points[i][l.key] = nil
		}
		for _, l := range p.Shown {
			points[i][l.key] = l.value(period, p.Of)
		}
	}
	return struct {
		Span     measure.Span     `json:"span"`
		Since    time.Time        `json:"since"`
		Until    time.Time        `json:"until"`
		Step     float64          `json:"step_seconds"`
		Points   []map[string]any `json:"points"`
		Timeline []happening      `json:"timeline"`
		More     bool             `json:"more_actions"`
	}{p.Span, p.Series.Since, p.Series.Until(), p.Series.Step.Seconds(), points, orEmpty(p.Line), p.More}, nil
}
