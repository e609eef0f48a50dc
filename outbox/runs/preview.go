package runs

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// sampleSize is how many a preview shows.
const sampleSize = 10

// Bite bounds how much of a selection one answer counts.
type Bite struct {
	After string // place that a preview before ended at, with what it had counted in Counts
	Counts
	For  time.Duration // 0: until the end
	Most int64         // enough is known when there are more. 0: there is no such number.
}

// Preview is what an order would be done to.
type Preview struct {
	Counts

	Order Order // with its end set: the order to be given
	// Place is where the counting ended, which began anew after Bite.After.
	Place string
	// More tells that it goes on from there.
	More   bool
	Sample []Sampled // the first that this bite selected, as they are now
}

// Sampled is one of those that are selected.
type Sampled struct {
	Effect    string // its idempotency key; empty for an event
	Event     identity.EventRef
	EventType string
	State     string
	At        time.Time // made, or received

	// Of an effect.
	Destination    string
	Route          string
	Attempt        int
	ResponseStatus int
	Error          string
}

// Preview counts what an order would be done to, and shows some of it. It changes
// nothing.
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

// sample reads those that are shown.
func (r *Runs) sample(ctx context.Context, o Order, first []find.Found) ([]Sampled, error) {
	var sample []Sampled
	if o.OfRefused() { // they are counted by source and reason instead
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
