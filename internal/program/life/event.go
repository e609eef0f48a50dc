// Package life tells the life of one event or one effect, in the same words for the
// command and the console.
package life

import (
	"context"
	"slices"

	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Event is all that is known of an event.
type Event struct {
	Event   *inbox.Event
	Links   []ledger.EventEffect
	Effects []Effect // of the links, in the same order
	Replays []inbox.EventReplay
	Actions []ledger.OperatorAction // on the event and its effects by name, the oldest first

	Routes      []route.Explanation
	OtherRoutes bool   // the event was dispatched by another configuration
	NoRoutes    string // why there are none to ask
}

// maxActions bounds what is shown of what people ordered.
const maxActions = 1_000

// ReadEvent reads all of the life of an event but its routes, which are not in the
// database. Errors: ledger.ErrNotFound when an effect was deleted meanwhile.
func ReadEvent(ctx context.Context, o *outbox.Outbox, e *inbox.Event) (*Event, error) {
	l := &Event{Event: e}
	var err error
	if l.Links, err = o.Ledger().EffectsOfEvent(ctx, e.EventRef); err != nil {
		return nil, err
	}
	targets := []string{e.EventRef.String()}
	for _, link := range l.Links {
		effect, err := ReadEffect(ctx, o, link.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		effect.Suppressed = link.Suppressed
		l.Effects = append(l.Effects, effect)
		targets = append(targets, link.IdempotencyKey)
	}
	if l.Replays, err = o.Inbox().EventReplays(ctx, e.EventRef); err != nil {
		return nil, err
	}
	if l.Actions, err = o.Ledger().OperatorLog(ctx, e.ReceivedAt, maxActions, targets...); err != nil {
		return nil, err
	}
	slices.Reverse(l.Actions)
	return l, nil
}

// Explain asks the routes of a configuration what they make of the event. It may have
// been dispatched by another one.
func (l *Event) Explain(ctx context.Context, table *route.Table) {
	l.Routes = table.Explain(ctx, l.Event)
	l.OtherRoutes = l.Event.ConfigHash != "" && l.Event.ConfigHash != table.ConfigHash()
}

// WhyNone is why an event has no effects, to follow the word none.
func WhyNone(e *inbox.Event) string {
	switch e.Outcome {
	case inbox.Skipped:
		return ": no route and no handler wanted it"
	case inbox.Received:
		return " yet: it waits for its dispatch"
	case inbox.Held:
		return " until a person decides: hooklatch events release, or hooklatch events drop"
	case inbox.Dropped:
		return ": a person decided against it"
	case inbox.Imported:
		return ": another system accepted it"
	case inbox.Dispatched, inbox.Failed:
	}
	return ""
}

// TraceOf is the id of the trace in which the event was received. Empty: it has none.
func TraceOf(e *inbox.Event) string {
	if span := tracing.Parse(e.Traceparent); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
