package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/chart"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

func numbersFields(r *request) []field {
	return []field{
		{Field: find.Field{Name: "span", Label: "Time"}, Options: texts(measure.Spans())},
		{Field: find.Field{Name: "source", Label: "Source"}, Options: r.sourceNames()},
		{Field: find.Field{Name: "destination", Label: "Destination"}, Options: r.destinationNames()},
	}
}

// numbersPage shows the counts of all processes over time.
type numbersPage struct { //nolint:recvcheck // the template gets the page by value; only read and happened change it
	view

	Query  query
	Wrong  *invalid
	Span   measure.Span
	Of     measure.Of
	Series *measure.Series // nil if Wrong is set
	Shown  []numbersLine   // lines that are counted for the subject
	// Line contains the changes and the operator actions in the shown period. More is true if there
	// may be more operator actions than Line contains.
	Line []happening
	More bool
}

// showNumbers shows counts over time, with the changes and operator actions in the same period.
func showNumbers(r *request) error {
	shown := numbersPage{view: r.view("numbers", "Numbers over time"), Query: readQuery(numbersFields(r), r.URL.Query())}
	if shown.Wrong = shown.read(); shown.Wrong != nil {
		if r.asData {
			return shown.Wrong
		}
		return r.render(http.StatusBadRequest, "numbers", shown)
	}
	var err error
	if shown.Series, err = r.opts.Measure.Series(r.Context(), shown.Of, shown.Span); err != nil {
		return err
	}
	if err := shown.happened(r); err != nil {
		return err
	}
	shown.Shown = slices.DeleteFunc(numbersLines(), func(l numbersLine) bool {
		return shown.Of.Destination != "" && l.of == bySource || shown.Of.Source != "" && l.of == byDestination
	})
	return r.render(http.StatusOK, "numbers", shown)
}

// read reads the span and the subject from the query. It returns nil if they are valid.
func (p *numbersPage) read() *invalid {
	p.Span, p.Of = measure.Span(p.Default()), measure.Of{Source: p.Query.Get("source"), Destination: p.Query.Get("destination")}
	if given := measure.Span(p.Query.Get("span")); given != "" {
		p.Span = given
	}
	switch {
	case p.Query.long != nil:
		return p.Query.long
	case !p.Span.Known():
		return &invalid{"Time", string(p.Span), "allowed are " + strings.Join(texts(measure.Spans()), ", ")}
	case p.Of.Source != "" && p.Of.Destination != "":
		return &invalid{"Destination", p.Of.Destination, "a source is already chosen: choose either a source or a destination"}
	}
	return nil
}

// Default returns the span that is shown if none is chosen.
func (numbersPage) Default() string { return string(measure.Day) }

// Each returns the length of a period in words, for use after "per".
func (p numbersPage) Each() string {
	switch p.Span {
	case measure.Hour:
		return "minute"
	case measure.Week:
		return "hour"
	default:
		return "15 minutes"
	}
}

// Kept returns how long the counts are kept.
func (p numbersPage) Kept() string {
	if hours := int(p.Span.Kept().Hours()); hours < 48 {
		return fmt.Sprintf("%d hours", hours)
	}
	return fmt.Sprintf("%d days", int(p.Span.Kept().Hours()/24))
}

// At returns the beginning of a period.
func (p numbersPage) At(period int) time.Time { return p.Series.At(period) }

// Charts returns the charts of the lines.
func (p numbersPage) Charts() (drawn []chart.Drawing) {
	gaps := make([]bool, len(p.Series.Periods))
	for i, period := range p.Series.Periods {
		gaps[i] = !period.Counted
	}
	for _, of := range numbersCharts() {
		c := chart.Chart{
			ID: of.id, Title: of.title, Unit: strings.ReplaceAll(of.unit, "{each}", p.Each()), Scale: of.scale,
			Since: p.Series.Since.In(p.Look.location()), Step: p.Series.Step, Gaps: gaps, Marks: p.marks(),
		}
		for _, l := range p.Shown {
			if l.chart == of.id {
				c.Lines = append(c.Lines, chart.Line{Name: l.Name, Class: l.class, Dash: l.dash, Values: p.values(l), Summary: l.sum(p, l)})
			}
		}
		if len(c.Lines) > 0 {
			drawn = append(drawn, c.Draw())
		}
	}
	return drawn
}

// Cell returns the value of a line in a period, for the table.
func (p numbersPage) Cell(period int, l numbersLine) string {
	value := l.value(p.Series.Periods[period], p.Of)
	switch {
	case value == nil:
		return "–"
	case l.duration:
		return chart.Duration(*value)
	}
	return chart.Brief(*value)
}

func (p numbersPage) values(l numbersLine) []*float64 {
	values := make([]*float64, len(p.Series.Periods))
	for i, period := range p.Series.Periods {
		values[i] = l.value(period, p.Of)
	}
	return values
}
