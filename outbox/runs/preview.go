package runs

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// sampleSize is the number of targets that a preview shows.
const sampleSize = 10

// Bite limits how much of a selection one call counts.
type Bite struct {
	After string // position where an earlier preview ended; Counts contains its counts
	Counts
	For  time.Duration // time after which counting stops; 0: at the end of the selection
	Most int64         // counting may stop above this number of selected targets; 0: no limit
}

// Preview describes the changes that an Order would cause.
type Preview struct {
	Counts

	Order Order // with its end set: ready to submit
	// Place is the position at which this count stopped. The count started after Bite.After.
	Place string
	// More is true if the selection continues after Place.
	More   bool
	Sample []Sampled // the first targets of this call, in their current state; nil for refused deliveries
}

// Sampled is one selected target.
type Sampled struct {
	Effect    string // the effect's idempotency key; empty for an event
	Event     identity.EventRef
	EventType string
	State     string
	At        time.Time // creation or receipt time

	// The next fields are set only for effects.
	Destination    string
	Route          string
	Attempt        int
	ResponseStatus int
	Error          string
}

// Preview counts the changes that an Order would cause, and shows a sample. It changes nothing.
func (r *Runs) Preview(ctx context.Context, o Order, b Bite) (Preview, error) {
	v := Preview{Counts: b.Counts, Place: b.After}
	var err error
	if v.Order, err = r.fixed(ctx, o); err != nil {
		return v, err
	}
	var first []find.Found
	end := time.Now().Add(b.For)
	for v.More = true; v.More; {
		page, err := r.page(ctx, v.Order, find.Cursor(v.Place))
		if err != nil {
			return v, err
		}
		taken := v.take(v.Order, page.Rows)
		first = append(first, taken[:min(len(taken), sampleSize-len(first))]...)
		v.Place, v.More = string(page.Next), page.More
		if b.For > 0 && time.Now().After(end) || b.Most > 0 && v.Selected > b.Most {
			break
		}
	}
	v.Sample, err = r.sample(ctx, v.Order, first)
	return v, err
}

// sample reads the targets to display.
func (r *Runs) sample(ctx context.Context, o Order, first []find.Found) ([]Sampled, error) {
	var sample []Sampled
	if o.OfRefused() { // refused deliveries are counted by source and reason instead
		return nil, nil
	}
	if o.OfEvents() {
		refs := make([]identity.EventRef, len(first))
		for i, f := range first {
			refs[i] = f.Event
		}
		found, err := r.opts.Inbox.EventsByRef(ctx, refs)
		for _, ref := range refs {
			if e, there := found[ref]; there {
				sample = append(sample, Sampled{Event: ref, EventType: e.Type, State: string(e.Outcome), At: e.ReceivedAt})
			}
		}
		return sample, err
	}
	ids := make([]identity.EffectID, len(first))
	for i, f := range first {
		ids[i] = f.Effect
	}
	found, err := r.opts.Ledger.EffectsByID(ctx, ids)
	for _, id := range ids {
		if e, there := found[id]; there {
			sample = append(sample, Sampled{
				Effect: e.IdempotencyKey, Event: e.Event, EventType: e.EventType, State: string(e.State), At: e.CreatedAt,
				Destination: e.Destination, Route: e.Route, Attempt: e.Attempt, ResponseStatus: e.ResponseStatus, Error: e.Error,
			})
		}
	}
	return sample, err
}
