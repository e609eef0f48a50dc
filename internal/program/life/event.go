// Package life describes the history of one event or one effect, with the same texts for the
// command line and the console.
package life

import (
	"context"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Event is an event with its effects, its replays, the operator actions, and the results of the
// current routes.
type Event struct {
	Event   *inbox.Event
	Links   []ledger.EventEffect
	Effects []Effect // effects of the links, in the same order
	Replays []inbox.EventReplay
	Actions []ledger.OperatorAction // operator actions on the event or its effects, oldest first

	Routes      []route.Explanation
	OtherRoutes bool   // true if another configuration dispatched the event
	NoRoutes    string // reason why Routes are unknown
}

// sentBefore is how long before its receipt an event may have operator actions. The program records
// the sending of a test event before it delivers the event.
const sentBefore = time.Minute

// maxActions is the maximum number of operator actions shown.
const maxActions = 1_000

// ReadEvent reads the history of e, and sets e.EffectStates. It does not read the routes, which are
// not in the database. Errors: ledger.ErrNotFound if an effect was deleted meanwhile.
func ReadEvent(ctx context.Context, o *outbox.Outbox, e *inbox.Event) (*Event, error) {
	l := &Event{Event: e}
	if e.Recalled != nil {
		err := l.recall(ctx, o)
		return l, err
	}
	var err error
	if l.Links, err = o.Ledger().EffectsOfEvent(ctx, e.EventRef); err != nil {
		return nil, err
	}
	e.EffectStates = ledger.StateCounts{}
	targets := []string{e.EventRef.String()}
	for _, link := range l.Links {
		effect, err := readEffect(ctx, o, link.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		effect.Suppressed = link.Suppressed
		l.Effects = append(l.Effects, effect)
		e.EffectStates[effect.State]++
		targets = append(targets, link.IdempotencyKey)
	}
	if l.Replays, err = o.Inbox().EventReplays(ctx, e.EventRef); err != nil {
		return nil, err
	}
	err = l.readActions(ctx, o, targets)
	return l, err
}

// recall reads the history of an event that is stored only in the export.
func (l *Event) recall(ctx context.Context, o *outbox.Outbox) error {
	recalled, err := o.Ledger().Recall(ctx, l.Event.Recalled.Effects)
	if err != nil {
		return err
	}
	l.Event.EffectStates = ledger.StateCounts{}
	l.Replays = l.Event.Recalled.Replays
	targets := []string{l.Event.EventRef.String()}
	for _, r := range recalled {
		e := r.Effect
		l.Links = append(l.Links, ledger.EventEffect{
			EffectID: e.EffectID, Suppressed: r.Suppressed, IdempotencyKey: e.IdempotencyKey, Destination: e.Destination, State: e.State, Attempt: e.Attempt,
		})
		l.Effects = append(l.Effects, Effect{Effect: e, Attempts: r.Attempts, Transitions: r.Transitions, Suppressed: r.Suppressed})
		l.Event.EffectStates[e.State]++
		targets = append(targets, e.IdempotencyKey)
	}
	return l.readActions(ctx, o, targets)
}

// readActions reads the operator actions on the event or its effects.
func (l *Event) readActions(ctx context.Context, o *outbox.Outbox, targets []string) error {
	var err error
	if l.Actions, err = o.Ledger().OperatorLog(ctx, l.Event.ReceivedAt.Add(-sentBefore), maxActions, targets...); err != nil {
		return err
	}
	slices.Reverse(l.Actions)
	return nil
}

// Explain sets each route's result for the event, with the reason, and whether another
// configuration dispatched the event.
func (l *Event) Explain(ctx context.Context, table *route.Table) {
	l.Routes = table.Explain(ctx, l.Event)
	l.OtherRoutes = l.Event.ConfigHash != "" && l.Event.ConfigHash != table.ConfigHash()
}

// WhyNone returns the reason why an event has no effects. The text follows the word "none". It is
// "" if the outcome gives no reason.
func WhyNone(e *inbox.Event) string {
	switch e.Outcome {
	case inbox.Skipped:
		return ": no route and no handler matched it"
	case inbox.Received:
		return " yet: it is waiting to be dispatched"
	case inbox.Held:
		return " until an operator decides: hooklatch events release, or hooklatch events drop"
	case inbox.Dropped:
		return ": an operator dropped it"
	case inbox.Imported:
		return ": another cell or another system accepted it"
	case inbox.Dispatched, inbox.Failed:
	}
	return ""
}

// TraceOf returns the id of the trace in which the event was received, or "" if the event has no
// trace.
func TraceOf(e *inbox.Event) string {
	if span := tracing.Parse(e.Traceparent); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
