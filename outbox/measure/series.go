package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Span is the length of a Series.
type Span string

// The spans of a Series.
const (
	Hour Span = "hour" // by minute
	Day  Span = "day"  // by quarter of an hour
	Week Span = "week" // by hour
)

// Spans returns all spans, the shortest first.
func Spans() []Span { return []Span{Hour, Day, Week} }

// Kept returns the period for which the counts of a span are kept.
func (s Span) Kept() time.Duration {
	if s == Week {
		return kept
	}
	return minutesKept
}

// Known reports whether s is one of Spans.
func (s Span) Known() bool { return slices.Contains(Spans(), s) }

// shape describes the periods of a span.
type shape struct {
	steps int
	step  time.Duration
	// lag is the time after which a period's counts are complete: processes add their counts every
	// ten seconds, and sums are renewed every five minutes.
	lag time.Duration
}

func (s Span) shape() shape {
	switch s {
	case Day:
		return shape{steps: 96, step: 15 * time.Minute, lag: 10 * time.Minute}
	case Week:
		return shape{steps: 7 * 24, step: time.Hour, lag: 10 * time.Minute}
	default:
		return shape{steps: 60, step: time.Minute, lag: AddEvery + addTimeout}
	}
}

// Of is the subject of a Series: one source, one destination, or everything if both are empty.
type Of struct{ Source, Destination string }

// summed reports whether the counts of a span are read from the sums over all names.
func (o Of) summed(span Span) bool { return o == (Of{}) && span != Hour }

// Series holds the counts of consecutive periods of equal length. The newest period is the last one
// whose counts are complete.
type Series struct {
	Since   time.Time     // beginning of the first period, by the database's clock
	Step    time.Duration // length of a period
	Periods []Period
	Changes []Change // oldest first
}

// Until returns the end of the last period.
func (s *Series) Until() time.Time { return s.Since.Add(time.Duration(len(s.Periods)) * s.Step) }

// At returns the beginning of a period.
func (s *Series) At(period int) time.Time { return s.Since.Add(time.Duration(period) * s.Step) }

// Period holds the counts of one period.
type Period struct {
	// Counted is false if the period's counts are unknown: no process counted anything in it, or
	// its sums over all names do not exist yet.
	Counted bool
	// Readings is the number of readings of the amount of waiting work.
	Readings int64
	// Sources and Destinations hold the counts by kind. Refusals are summed under AllRefused.
	Sources, Destinations map[What]int64
}

// AllRefused is the sum of the refusals for all reasons in a Series.
const AllRefused What = "refused"

// Average returns the average amount of waiting work in the period. The parameter counts is
// p.Sources or p.Destinations. Average returns false if the amount was never read.
func (p Period) Average(counts map[What]int64) (float64, bool) {
	if p.Readings == 0 {
		return 0, false
	}
	return float64(counts[Awaiting]) / float64(p.Readings), true
}

// Change is an entry in the timeline, for one minute or hour.
type Change struct {
	At    time.Time // beginning of the minute or hour
	Place int       // number of its period
	What  What      // BreakerOpened, BreakerClosed, Started or Configured
	Name  string    // destination, version, or hash of a configuration
	N     int64     // number of processes that counted it
}

const (
	// changesAtOnce is the maximum number of changes shown for one minute or hour.
	changesAtOnce = 20
	// summed marks a period whose sums over all names exist.
	summed What = "summed"
)

// Series reads the counts of a subject over time. Its cost depends on the number of periods. For
// the last hour of all sources and destinations, it also depends on their number, because these
// counts are not summed yet.
func (r *Reader) Series(ctx context.Context, of Of, span Span) (*Series, error) {
	shape := span.shape()
	s := &Series{Step: shape.step, Periods: make([]Period, shape.steps)}
	for i := range s.Periods {
		s.Periods[i] = Period{Sources: map[What]int64{}, Destinations: map[What]int64{}}
	}
	if err := r.line(ctx, s, of, span); err != nil {
		return nil, fmt.Errorf("read the timeline: %w", err)
	}
	if err := r.counted(ctx, s, of, span); err != nil {
		return nil, fmt.Errorf("read the counts per period: %w", err)
	}
	return s, nil
}

// line reads the beginning of a series, the periods that were counted, and the changes.
func (r *Reader) line(ctx context.Context, s *Series, of Of, span Span) error {
	shape := span.shape()
	steps := periods{Steps: shape.steps, LagSeconds: shape.lag.Seconds()}
	line := r.sql.HourLine.With(hourLine{steps, changesAtOnce})
	if span != Week {
		line = r.sql.MinuteLine.With(minuteLine{minutePeriods{steps, shape.step.Seconds()}, changesAtOnce, !of.summed(span)})
	}
	rows, err := line.Query(ctx, r.counts)
	if err != nil {
		return err
	}
	var c Change
	var counted bool
	_, err = pgx.ForEachRow(rows, []any{&c.Place, &c.At, &counted, &c.What, &c.Name, &c.N}, func() error {
		if s.Since.IsZero() {
			s.Since = c.At
		}
		period := &s.Periods[c.Place]
		period.Counted = period.Counted || counted
		switch c.What {
		case sampled:
			period.Readings += c.N
		case BreakerOpened, BreakerClosed, Started, Configured:
			s.Changes = append(s.Changes, c)
		}
		return nil
	})
	return err
}

// counted reads the counts of a series.
func (r *Reader) counted(ctx context.Context, s *Series, of Of, span Span) error {
	shape := span.shape()
	steps := periods{Steps: shape.steps, LagSeconds: shape.lag.Seconds()}
	minutes := minutePeriods{steps, shape.step.Seconds()}
	kinds, name := []Kind{ofAllSources, ofAllDestinations}, ""
	switch {
	case of.Source != "":
		kinds, name = []Kind{OfSource}, of.Source
	case of.Destination != "":
		kinds, name = []Kind{OfDestination}, of.Destination
	}
	counts := r.sql.MinutesOf.With(minutesOf{minutes, kinds, name})
	switch {
	case span == Week:
		counts = r.sql.HoursOf.With(hoursOf{steps, kinds, name})
	case name == "" && span == Hour:
		counts = r.sql.MinutesOfAll.With(minutesOfAll{minutes, []Kind{OfSource, OfDestination}})
	}
	rows, err := counts.Query(ctx, r.counts)
	if err != nil {
		return err
	}
	var place int
	var kind Kind
	var what What
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&place, &kind, &what, &n}, func() error {
		into := s.Periods[place].Sources
		if kind == OfDestination || kind == ofAllDestinations {
			into = s.Periods[place].Destinations
		}
		into[what] += n
		return nil
	})
	if of.summed(span) {
		for i, p := range s.Periods {
			s.Periods[i].Counted = p.Sources[summed] > 0
		}
	}
	return err
}
