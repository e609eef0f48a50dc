package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// sampleSize is how many events a preview shows.
const sampleSize = 5

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
	// Unclear counts those left out because the condition failed, the first time with WhyUnclear.
	Unclear    int64
	WhyUnclear error
	// Bodiless counts those that the condition could not look at: retention has removed their
	// bodies, and their effects may still say what was in them.
	Bodiless int64
	Sample   []Selected // the first of Selected
}

// Preview counts what a selection selects now, and shows some of it. It changes
// nothing. progress is called after each slice; it may be nil.
func (e *Eraser) Preview(ctx context.Context, asked find.Events, progress func(Progress)) (Progress, error) {
	var seen Progress
	err := e.walk(ctx, asked, &seen, progress, func(identity.EventRef) error { return nil })
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
func (e *Eraser) Many(ctx context.Context, asked find.Events, by ledger.Operator, order Order,
	each func(identity.EventRef, Erased), progress func(Progress),
) (Progress, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString() // one order
	}
	var seen Progress
	var jobs jobsOf
	err := e.walk(ctx, asked, &seen, progress, func(ref identity.EventRef) error {
		erased, err := e.events(ctx, ref, by, order, func(_ context.Context, of jobsOf) error {
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
			each(ref, erased)
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
func (e *Eraser) walk(ctx context.Context, asked find.Events, seen *Progress, progress func(Progress), do func(identity.EventRef) error) error {
	last, err := e.inbox.Newest(ctx)
	if err != nil {
		return err
	}
	for at, more := find.Beginning, true; more; {
		page, err := e.finder.EventsToChange(ctx, asked, at, last, false)
		if err != nil {
			return err
		}
		if err := e.sample(ctx, seen, page.Rows); err != nil {
			return err
		}
		for _, found := range page.Rows {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			switch {
			case found.Unclear == nil:
				seen.Selected++
				if err := do(found.Event); err != nil {
					return err
				}
			case errors.Is(found.Unclear, find.ErrBodiless):
				seen.Bodiless++
			default:
				seen.Unclear++
				seen.WhyUnclear = cmp.Or(seen.WhyUnclear, found.Unclear)
			}
		}
		if progress != nil {
			progress(*seen)
		}
		at, more = page.Next, page.More
	}
	return nil
}

// sample reads the first of those that were found.
func (e *Eraser) sample(ctx context.Context, seen *Progress, found []find.Found) error {
	var refs []identity.EventRef
	for _, f := range found {
		if f.Unclear == nil && len(seen.Sample)+len(refs) < sampleSize {
			refs = append(refs, f.Event)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	events, err := e.inbox.EventsByRef(ctx, refs)
	for _, ref := range refs {
		if one := events[ref]; one != nil {
			seen.Sample = append(seen.Sample, Selected{EventRef: ref, Type: one.Type, Outcome: one.Outcome, ReceivedAt: one.ReceivedAt})
		}
	}
	return err
}
