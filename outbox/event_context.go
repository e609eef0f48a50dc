package outbox

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// eventKey is the context key of the event.
type eventKey struct{}

// ContextWithEvent returns a context with which EnqueueTx links the effects it enqueues to an
// event. DispatchTx passes such a context to its handler.
func ContextWithEvent(ctx context.Context, e *inbox.Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// eventOf returns the event that ContextWithEvent put into ctx, or nil.
func eventOf(ctx context.Context) *inbox.Event {
	e, _ := ctx.Value(eventKey{}).(*inbox.Event)
	return e
}
