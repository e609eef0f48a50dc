package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
)

const (
	// selectionSlice is how many events a selection reads at once, selected or not.
	selectionSlice = 2_000
	// sampleSize is how many events a preview shows.
	sampleSize = 5
)

// Selection selects events to erase. Empty fields take all. What was erased before is
// never among them.
type Selection struct {
	Source  identity.Source
	Type    string
	Outcome inbox.Outcome
	From    time.Time // received at or after
	Until   time.Time // received before
	// Match decides by what is in the event, its body included. An event for which it
	// fails is left out, and so is one whose body is no longer kept.
	Match func(*inbox.Event) (bool, error)
}

// Selected is an event of a selection, in short.
type Selected struct {
	identity.EventRef

	Type       string
	Outcome    inbox.Outcome
	ReceivedAt time.Time
}

// Progress is how far an order about many events has come.
type Progress struct {
	Selected int64
	Erased   int64
	// Unfinished counts those left out because something of them is, the first time with
	// WhyUnfinished.
	Unfinished    int64
	WhyUnfinished error
	// Unclear counts those left out because Match failed, the first time with WhyUnclear.
	Unclear    int64
	WhyUnclear error
	// Bodiless counts those that Match could not look at: retention has removed their
	// bodies, and their effects may still say what was in them.
	Bodiless int64
	Sample   []Selected // the first of Selected
}

// Preview counts what a selection selects now, and shows some of it. It changes
// nothing. progress is called after each slice; it may be nil.
func (e *Eraser) Preview(ctx context.Context, s Selection, progress func(Progress)) (Progress, error) {
	var seen Progress
	err := e.walk(ctx, s, &seen, progress, func(Selected) error { return nil })
	if err != nil {
		return seen, fmt.Errorf("preview of an erasure: %w", err)
	}
	return seen, nil
}

// Many erases the events of a selection in the order they were accepted, each as Event
// does, until all are through or ctx is done. Those accepted meanwhile are left out, and
// so is what is unfinished, unless the order says otherwise. each is called with every
// event that was erased, and progress after each slice; both may be nil. What was erased
// before an error stays erased.
func (e *Eraser) Many(ctx context.Context, s Selection, by ledger.Operator, order Order,
	each func(identity.EventRef, Erased), progress func(Progress),
) (Progress, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString() // one order
	}
	var seen Progress
	var jobs jobsOf
	err := e.walk(ctx, s, &seen, progress, func(found Selected) error {
		erased, err := e.events(ctx, found.EventRef, by, order, func(_ context.Context, of jobsOf) error {
			jobs.add(of)
			return nil
		})
		if _, unfinished := errors.AsType[*UnfinishedError](err); unfinished {
			seen.Unfinished++
			seen.WhyUnfinished = cmp.Or(seen.WhyUnfinished, err)
			return nil
		}
		if errors.Is(err, ledger.ErrNotFound) { // retention was faster
			return nil
		}
		if err != nil {
			return err
		}
		seen.Erased++
		if each != nil {
			each(found.EventRef, erased)
		}
		return nil
	})
	// What was erased is erased whole, also when the rest is not any more.
	err = errors.Join(err, e.eraseJobs(context.WithoutCancel(ctx), jobs))
	if err != nil {
		return seen, fmt.Errorf("erase events: %w", err)
	}
	return seen, nil
}

// walk calls do with the events of a selection, in the order they were accepted.
func (e *Eraser) walk(ctx context.Context, s Selection, seen *Progress, progress func(Progress), do func(Selected) error) error {
	at := selectEvents{
		Source: s.Source, EventType: s.Type, Outcome: s.Outcome,
		Since: column.TimeOrNull(s.From), Until: column.TimeOrNull(s.Until), Limit: selectionSlice,
	}
	if err := e.sql.LastEvent.QueryRow(ctx, pipeline.ByIndex{Sender: e.read}).Scan(&at.Last); err != nil {
		return fmt.Errorf("find the last event: %w", err)
	}
	for {
		found, end, err := e.slice(ctx, at)
		if err != nil || end == 0 {
			return err
		}
		for _, one := range found {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			yes, err := e.matches(ctx, s, one.EventRef, seen)
			if err != nil {
				return err
			}
			if !yes {
				continue
			}
			seen.Selected++
			if len(seen.Sample) < sampleSize {
				seen.Sample = append(seen.Sample, one)
			}
			if err := do(one); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(*seen)
		}
		at.After = end
	}
}

// slice reads the selected ones among the next events, and where it ended; 0 when there
// are no more.
func (e *Eraser) slice(ctx context.Context, at selectEvents) (found []Selected, end int64, err error) {
	rows, err := e.sql.SelectEvents.With(at).Query(ctx, pipeline.ByIndex{Sender: e.read})
	if err != nil {
		return nil, 0, fmt.Errorf("select events: %w", err)
	}
	var one Selected
	var selected bool
	_, err = pgx.ForEachRow(rows, []any{&selected, &one.Source, &one.EventID, &end, &one.Type, &one.Outcome, &one.ReceivedAt}, func() error {
		if selected {
			found = append(found, one)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("select events: %w", err)
	}
	return found, end, nil
}

// matches asks Match, and counts what it cannot say.
func (e *Eraser) matches(ctx context.Context, s Selection, ref identity.EventRef, seen *Progress) (bool, error) {
	if s.Match == nil {
		return true, nil
	}
	event, err := e.inbox.Event(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if event.Body == nil {
		seen.Bodiless++
		return false, nil
	}
	yes, err := s.Match(event)
	if err != nil {
		seen.Unclear++
		seen.WhyUnclear = cmp.Or(seen.WhyUnclear, err)
		return false, nil
	}
	return yes, nil
}
