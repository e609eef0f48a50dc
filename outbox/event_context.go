package outbox

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// eventKey is the key of the event in a context.
type eventKey struct{}

// ContextWithEvent returns a context with which EnqueueTx links what it enqueues
// to an event. DispatchTx gives its handler such a context.
func ContextWithEvent(ctx context.Context, e *inbox.Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// eventOf is nil outside of a handler.
func eventOf(ctx context.Context) *inbox.Event {
	e, _ := ctx.Value(eventKey{}).(*inbox.Event)
	return e
}
