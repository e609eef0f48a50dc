package route

import (
	"context"
	"fmt"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Condition is a compiled predicate over events: a CEL expression that yields a bool, with the
// variables and functions of a route's `when`. It is safe for concurrent use.
type Condition struct {
	when     *expression
	demanded string
}

// compileCondition compiles a condition, and finds the text that a matching body must contain.
func compileCondition(env *cel.Env, text string) (*Condition, error) {
	ast, err := checkExpression(env, text, wantBool)
	if err != nil {
		return nil, err
	}
	when, err := newExpression(env, text, ast)
	if err != nil {
		return nil, err
	}
	return &Condition{when: when, demanded: demanded(ast.Expr())}, nil
}

// Match reports whether the condition is true for an event, which must be loaded with its body.
func (c *Condition) Match(e *inbox.Event) (bool, error) {
	yes, err := c.when.evalBool(newEventScope(context.Background(), e))
	if err != nil {
		return false, fmt.Errorf("evaluate condition for %s: %w", e.EventRef, err)
	}
	return yes, nil
}

// found returns the condition as a filter for finding events.
func (c *Condition) found() find.Match { return find.Match{By: c.Match, Text: c.demanded} }

// CompileCondition is a find.Condition for conditions from a terminal or the database. Callers that
// share a process with other work use Conditions instead.
func CompileCondition(_ context.Context, text string) (find.Match, error) {
	envs, err := newExpressionEnvs()
	if err != nil {
		return find.Match{}, err
	}
	condition, err := compileCondition(envs.dispatch, text)
	if err != nil {
		return find.Match{}, err
	}
	return condition.found(), nil
}
