package route

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// CompileCondition makes a predicate over events of a CEL expression that
// yields a bool, with the names and functions of a route's `when`. The event
// must be loaded with its body. The predicate is not safe for concurrent use of
// one event, but may be used for several at once.
func CompileCondition(text string) (func(e *inbox.Event) (bool, error), error) {
	envs, err := newExpressionEnvs()
	if err != nil {
		return nil, err
	}
	condition, err := compileExpression(envs.dispatch, text, wantBool)
	if err != nil {
		return nil, err
	}
	return func(e *inbox.Event) (bool, error) {
		yes, err := condition.evalBool(newEventScope(context.Background(), e))
		if err != nil {
			return false, fmt.Errorf("evaluate condition for %s: %w", e.EventRef, err)
		}
		return yes, nil
	}, nil
}
