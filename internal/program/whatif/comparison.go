// Package whatif compares the effects that two configurations plan for stored events. It sends and
// writes nothing.
package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker/route"
)

const (
	// pageSize is the maximum number of events that one query finds.
	pageSize = 500
	// bodiesAtOnce is the maximum number of small bodies in memory. Large bodies are read one by one.
	bodiesAtOnce = 50
)

// Comparison compares two configurations of routes.
type Comparison struct {
	Old, New *route.Table
	// Renamed contains the new names of routes that are otherwise the same, by former name.
	Renamed map[string]string
	Finder  *find.Finder
	Inbox   *inbox.Inbox
}

// Limits bound a walk.
type Limits struct {
	Events int           // maximum number of events; required
	Time   time.Duration // no further events are read after this time; 0 for no limit
	// Rest is the pause after each batch of events, as a multiple of the time that the batch took.
	// It leaves the CPUs and the database to deliveries.
	Rest float64
}

// Walk compares the plans of the events that a filter selects, from a position backwards, newest
// first. It calls progress after each batch. If Walk returns an error, it also returns its results
// so far.
//
// Each event is planned alone, as if no other event had its keys. Report.Together counts the
// effects of the events together.
func (c *Comparison) Walk(ctx context.Context, asked find.Events, from find.Cursor, l Limits, progress func(*Report)) (*Report, error) {
	r := newReport()
	defer r.arrange()
	r.More, r.Next = true, from
	asked = asked.In(inbox.Received, inbox.Dispatched, inbox.Skipped, inbox.Failed, inbox.Held)
	began := time.Now()
	spent := func() bool { return l.Time > 0 && time.Since(began) >= l.Time }
	for r.More && r.Looked < l.Events && !spent() {
		page, err := c.Finder.Events(ctx, asked, r.Next, min(pageSize, l.Events-r.Looked))
		if err != nil {
			return r, err
		}
		r.Bodiless += page.Bodiless
		r.Unclear += page.Unclear
		for first := 0; first < len(page.Rows); first += bodiesAtOnce {
			if first > 0 && spent() {
				return r, nil
			}
			last := min(first+bodiesAtOnce, len(page.Rows))
			batch := time.Now()
			if err := c.compare(ctx, page.Rows[first:last], page.Cursors[first:last], r); err != nil {
				return r, err
			}
			if progress != nil {
				progress(r)
			}
			if err := rest(ctx, time.Duration(l.Rest*float64(time.Since(batch)))); err != nil {
				return r, err
			}
		}
		r.More, r.Next = page.More, page.Next
		if !page.Back.IsZero() {
			r.Back = page.Back
		}
	}
	return r, nil
}

func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compare adds a batch of events with their cursors to a report. Each plan is added before the next
// event is planned: together, the rendered requests of a batch may be large. After an error, the report
// contains the events before its position.
func (c *Comparison) compare(ctx context.Context, events []*inbox.Event, cursors []find.Cursor, r *Report) error {
	refs := make([]identity.EventRef, len(events))
	for i, e := range events {
		refs[i] = e.EventRef
	}
	whole, err := c.Inbox.EventsWhole(ctx, refs)
	if err != nil {
		return fmt.Errorf("read bodies: %w", err)
	}
	for i, ref := range refs {
		e, err := whole.Get(ctx, ref)
		if err != nil {
			return fmt.Errorf("read a body: %w", err)
		}
		if e != nil { // otherwise the event was deleted meanwhile
			if err := c.addTo(ctx, r, e); err != nil {
				return err
			}
		}
		r.Next, r.Back = cursors[i], events[i].ReceivedAt
	}
	return nil
}

// addTo adds an event to a report.
func (c *Comparison) addTo(ctx context.Context, r *Report, e *inbox.Event) error {
	if !stored(e) {
		r.Looked, r.Bodiless = r.Looked+1, r.Bodiless+1
		return nil
	}
	p, err := c.plan(ctx, e)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Looked++
	if err == nil {
		r.add(e, p)
		return nil
	}
	r.Undecided++
	r.WhyUndecided = cmp.Or(r.WhyUndecided, err.Error())
	return nil
}

// stored reports whether the content of an event is still stored as received.
func stored(e *inbox.Event) bool {
	return e.Body != nil && e.ErasedAt.IsZero() && e.RedactedAt.IsZero()
}

// ErrGone is returned by One if the content of the event is no longer stored as received.
var ErrGone = errors.New("the content of the event is no longer stored as received")

// One compares the plans of one event. Errors: ErrGone, and the error of an evaluation that took
// too long or was interrupted.
func (c *Comparison) One(ctx context.Context, e *inbox.Event) (*Report, error) {
	if !stored(e) {
		return nil, ErrGone
	}
	p, err := c.plan(ctx, e)
	if err != nil {
		return nil, err
	}
	r := newReport()
	r.Looked, r.Back = 1, e.ReceivedAt
	r.add(e, p)
	r.arrange()
	return r, nil
}
