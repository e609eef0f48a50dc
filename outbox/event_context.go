package outbox

import "context"

// eventKey is the key of the event in a context.
type eventKey struct{}

// ContextWithEvent returns a context with which EnqueueTx links what it enqueues
// to an event. DispatchTx gives its handler such a context.
func ContextWithEvent(ctx context.Context, e *Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// eventOf is nil outside of a handler.
func eventOf(ctx context.Context) *Event {
	e, _ := ctx.Value(eventKey{}).(*Event)
	return e
}
