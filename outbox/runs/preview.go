package runs

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
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
	Sample []Sampled // the first that this bite selected
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

func sampledEffect(e ledger.SelectedEffect) Sampled {
	return Sampled{
		Effect: e.IdempotencyKey, Event: e.Event, EventType: e.EventType, State: string(e.State), At: e.CreatedAt,
		Destination: e.Destination, Route: e.Route, Attempt: e.Attempt, ResponseStatus: e.ResponseStatus, Error: e.Error,
	}
}

// errEnough ends a walk that has counted as much as it should.
var errEnough = errors.New("counted enough")

// Preview counts what an order would be done to, and shows some of it. It changes
// nothing.
func (r *Runs) Preview(ctx context.Context, o Order, b Bite) (Preview, error) {
	v := Preview{Counts: b.Counts, Place: b.After}
	var match func(*inbox.Event) (bool, error)
	var err error
	if v.Order, match, err = r.fixed(ctx, o); err != nil {
		return v, err
	}
	end := time.Now().Add(b.For)
	enough := func() error {
		if b.For > 0 && time.Now().After(end) || b.Most > 0 && v.Selected > b.Most {
			return errEnough
		}
		return nil
	}
	if o.OfEvents() {
		err = r.previewEvents(ctx, &v, match, enough)
	} else {
		err = r.previewEffects(ctx, &v, enough)
	}
	if v.More = errors.Is(err, errEnough); v.More {
		err = nil
	}
	return v, err
}

func (r *Runs) previewEffects(ctx context.Context, v *Preview, enough func() error) error {
	from, err := ledger.ParsePlace(v.Place)
	if err != nil {
		return err
	}
	seen := seenOf(v.Counts)
	return r.opts.Ledger.EachBatch(ctx, v.Order.Action, v.Order.Effects, from, &seen, math.MaxInt, func(batch []ledger.SelectedEffect, at ledger.Place) error {
		for _, e := range batch[:min(len(batch), sampleSize-len(v.Sample))] {
			v.Sample = append(v.Sample, sampledEffect(e))
		}
		v.saw(seen)
		if len(batch) == 0 && at.String() == v.Place {
			return nil // that is the end
		}
		v.Place = at.String()
		return enough()
	})
}

func (r *Runs) previewEvents(ctx context.Context, v *Preview, match func(*inbox.Event) (bool, error), enough func() error) error {
	after, err := eventPlace(v.Place)
	if err != nil {
		return err
	}
	if match == nil {
		return r.countEvents(ctx, v, after, enough)
	}
	var sampled []identity.EventRef
	err = r.opts.Inbox.EachReplayable(ctx, v.Order.filter(match), after, v.Order.Events.Last, func(c inbox.Candidate) error {
		v.judged(c)
		if c.Yes && len(sampled) < sampleSize {
			sampled = append(sampled, c.EventRef)
		}
		v.Place = strconv.FormatInt(c.AcceptSeq, 10)
		return enough()
	}, func(place int64) error {
		v.Place = strconv.FormatInt(place, 10)
		return enough()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if sampleErr := r.sampleEvents(ctx, v, sampled); sampleErr != nil {
		return sampleErr
	}
	return err
}

// countEvents counts without looking at each, where no condition has to be asked.
func (r *Runs) countEvents(ctx context.Context, v *Preview, after int64, enough func() error) error {
	filter, last := v.Order.filter(nil), v.Order.Events.Last
	var sampled []identity.EventRef
	err := r.opts.Inbox.EachReplayable(ctx, filter, after, last, func(c inbox.Candidate) error {
		if sampled = append(sampled, c.EventRef); len(sampled) == sampleSize {
			return errEnough
		}
		return nil
	}, func(int64) error { return enough() })
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := r.sampleEvents(ctx, v, sampled); err != nil {
		return err
	}
	for after < last {
		var found int64
		if found, after, err = r.opts.Inbox.CountReplayable(ctx, filter, after, last); err != nil {
			return err
		}
		v.Selected += found
		v.Place = strconv.FormatInt(after, 10)
		if err := enough(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runs) sampleEvents(ctx context.Context, v *Preview, sampled []identity.EventRef) error {
	found, err := r.opts.Inbox.EventsByRef(ctx, sampled)
	if err != nil {
		return err
	}
	for _, ref := range sampled {
		if e, there := found[ref]; there {
			v.Sample = append(v.Sample, Sampled{Event: ref, EventType: e.Type, State: string(e.Outcome), At: e.ReceivedAt})
		}
	}
	return nil
}

// judged counts an event.
func (c *Counts) judged(of inbox.Candidate) {
	switch {
	case of.Unclear != nil:
		c.Unclear++
		if c.WhyUnclear == "" {
			c.WhyUnclear = of.Unclear.Error()
		}
	case of.Yes:
		c.Selected++
	}
}

// eventPlace reads a place among events.
func eventPlace(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("this is no place among events")
	}
	return at, nil
}

// seenOf is what the ledger goes on counting from.
func seenOf(c Counts) ledger.EffectsPreview {
	return ledger.EffectsPreview{Selected: c.Selected, InDoubt: c.InDoubt, Unrendered: c.Unrendered, Unclear: c.Unclear}
}

// saw takes over what the ledger counted.
func (c *Counts) saw(seen ledger.EffectsPreview) {
	c.Selected, c.InDoubt, c.Unrendered, c.Unclear = seen.Selected, seen.InDoubt, seen.Unrendered, seen.Unclear
	if c.WhyUnclear == "" && seen.WhyUnclear != nil {
		c.WhyUnclear = seen.WhyUnclear.Error()
	}
}
