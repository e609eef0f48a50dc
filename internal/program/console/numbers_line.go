package console

import (
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/console/chart"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// numbersChart describes a chart of the page "Numbers over time".
type numbersChart struct {
	id, title, unit string
	scale           chart.Scale
}

func numbersCharts() []numbersChart {
	return []numbersChart{
		{"events", "Events", "number per {each}", chart.Linear},
		{"attempts", "Attempts", "number per {each}", chart.Linear},
		{"latency", "Duration of first attempts", "logarithmic scale", chart.Durations},
		{"waiting", "Waiting", "average number", chart.Linear},
	}
}

// The subjects for which a line is counted.
const (
	byEither = iota
	bySource
	byDestination
)

// numbersLine is one line of a chart, and one column of the table.
type numbersLine struct {
	Name     string // in the legend
	Column   string // in the table
	key      string // in the JSON
	chart    string
	class    string // colour
	dash     string
	of       int
	duration bool // the value is a number of seconds
	value    func(p measure.Period, of measure.Of) *float64
	sum      func(p numbersPage, l numbersLine) string
}

func numbersLines() []numbersLine {
	return []numbersLine{
		{Name: "Accepted", Column: "Accepted", key: "accepted", chart: "events", class: "good", of: bySource, value: ofSources(measure.Accepted), sum: inAll},
		{
			Name: "Duplicates", Column: "Duplicates", key: "duplicates", chart: "events", class: "waiting", dash: "6 3", of: bySource,
			value: ofSources(measure.Duplicate), sum: inAll,
		},
		{
			Name: "Refused requests", Column: "Refused", key: "refused", chart: "events", class: "failed", dash: "2 3", of: bySource,
			value: ofSources(measure.AllRefused), sum: inAll,
		},
		{Name: "Done", Column: "Attempts done", key: "attempts_done", chart: "attempts", class: "good", value: attempts(done), sum: inAll},
		{Name: "Failed", Column: "Attempts failed", key: "attempts_failed", chart: "attempts", class: "failed", dash: "2 3", value: attempts(notDone), sum: inAll},
		{
			Name: "50 % within", Column: "50 % of first attempts", key: "first_attempts_p50_seconds", chart: "latency", class: "running", duration: true,
			value: firstWithin(0.5), sum: overAll(0.5),
		},
		{
			Name: "99 % within", Column: "99 % of first attempts", key: "first_attempts_p99_seconds", chart: "latency", class: "parked", dash: "6 3", duration: true,
			value: firstWithin(0.99), sum: overAll(0.99),
		},
		{
			Name: "Unfinished effects", Column: "Unfinished effects", key: "effects_waiting", chart: "waiting", class: "running", of: byDestination,
			value: averageOf(destinations), sum: onAverage,
		},
		{
			Name: "Undispatched events", Column: "Undispatched events", key: "events_waiting", chart: "waiting", class: "doubtful", dash: "6 3", of: bySource,
			value: averageOf(sources), sum: onAverage,
		},
	}
}

func done(c map[measure.What]int64) int64 { return c[measure.Done] }

func notDone(c map[measure.What]int64) int64 { return max(c[measure.Attempts]-c[measure.Done], 0) }

func sources(p measure.Period) map[measure.What]int64 { return p.Sources }

func destinations(p measure.Period) map[measure.What]int64 { return p.Destinations }

// attempted returns the counts of attempts: of a source if one is selected, otherwise of
// destinations. A handler runs for a source and has no destination.
func attempted(p measure.Period, of measure.Of) map[measure.What]int64 {
	if of.Source != "" {
		return p.Sources
	}
	return p.Destinations
}

func ofSources(what measure.What) func(measure.Period, measure.Of) *float64 {
	return func(p measure.Period, _ measure.Of) *float64 { return known(p, p.Sources[what]) }
}

func attempts(count func(map[measure.What]int64) int64) func(measure.Period, measure.Of) *float64 {
	return func(p measure.Period, of measure.Of) *float64 { return known(p, count(attempted(p, of))) }
}

func averageOf(of func(measure.Period) map[measure.What]int64) func(measure.Period, measure.Of) *float64 {
	return func(p measure.Period, _ measure.Of) *float64 {
		if average, read := p.Average(of(p)); read {
			return &average
		}
		return nil
	}
}

// firstWithin returns a function that finds the time within which a share of a period's first
// attempts ended, in seconds. The function returns at most chart.Longest, or nil if there was no
// first attempt.
func firstWithin(share float64) func(measure.Period, measure.Of) *float64 {
	return func(p measure.Period, of measure.Of) *float64 { return within(attempted(p, of), share) }
}

func within(counts map[measure.What]int64, share float64) *float64 {
	took, bounded := measure.FirstWithin(counts, share)
	seconds := took.Seconds()
	switch {
	case bounded:
	case measure.FirstTimed(counts) == 0:
		return nil
	default:
		seconds = chart.Longest
	}
	return &seconds
}

// known returns a count, or nil if the period was not counted.
func known(p measure.Period, n int64) *float64 {
	if !p.Counted {
		return nil
	}
	value := float64(n)
	return &value
}

// inAll describes the total and the maximum of a line of counts.
func inAll(p numbersPage, l numbersLine) string {
	all, most, counted := 0.0, 0.0, false
	for _, value := range p.values(l) {
		if value != nil {
			all, most, counted = all+*value, max(most, *value), true
		}
	}
	if !counted {
		return "not counted"
	}
	return fmt.Sprintf("%.0f in all, at most %.0f per %s", all, most, p.Each())
}

// onAverage describes the latest value and the maximum of a line of averages.
func onAverage(p numbersPage, l numbersLine) string {
	var latest *float64
	most := 0.0
	for _, value := range p.values(l) {
		if value != nil {
			latest, most = value, max(most, *value)
		}
	}
	if latest == nil {
		return "not counted"
	}
	return fmt.Sprintf("%s at the end, at most %s", chart.Brief(*latest), chart.Brief(most))
}

// overAll returns a function that describes the duration within which a share of all first attempts
// ended.
func overAll(share float64) func(numbersPage, numbersLine) string {
	return func(p numbersPage, _ numbersLine) string {
		all := map[measure.What]int64{}
		for _, period := range p.Series.Periods {
			for what, n := range attempted(period, p.Of) {
				all[what] += n
			}
		}
		seconds := within(all, share)
		if seconds == nil {
			return "no first attempts"
		}
		return chart.Duration(*seconds) + " over the whole period"
	}
}
