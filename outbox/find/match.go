package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hooklatch/hooklatch/internal/condition"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Content selects by an event's content, including its body. If both fields are set, both must
// match. An effect is selected by the event that created it.
type Content struct {
	// When is a CEL expression with the names and functions of a route's `when`.
	When string `json:"when,omitempty" find:"when" help:"for which this CEL 'expression' is true (same syntax as a route's 'when' condition)" label:"Condition on the payload" hint:"body.data.object.customer == \"cus_42\""`
	// Contains is a text that occurs in any field of the payload.
	Contains string `json:"contains,omitempty" find:"contains" help:"whose payload contains this 'text', in any field" label:"Text in the payload" hint:"jane@example.com"`
}

// IsZero reports whether c selects everything.
func (c Content) IsZero() bool { return c == Content{} }

// Concealed returns c with hashes in place of its literals, and returns the literals. salt is the
// id of the run's request.
func (c Content) Concealed(salt string) (concealed Content, literals []string) {
	concealed.When, literals = condition.Concealed(c.When, salt)
	for i, literal := range literals {
		literals[i] = textOf(literal)
	}
	if c.Contains != "" {
		literals = append(literals, c.Contains)
		concealed.Contains, _ = condition.Concealed(quoted(c.Contains), salt)
	}
	return concealed, literals
}

// quoted returns a text as a literal of an expression.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

// textOf returns a string literal without its prefix and quotes, and does not decode escapes. It
// returns any other literal unchanged.
func textOf(literal string) string {
	if quoted := strings.TrimLeft(literal, "rRbB"); quoted != "" && (quoted[0] == '"' || quoted[0] == '\'') {
		return strings.Trim(quoted, quoted[:1])
	}
	return literal
}

// Match is a compiled condition on an event's content.
type Match struct {
	By func(*inbox.Event) (bool, error)
	// Text occurs in the body of every event for which By is true. It consists only of letters,
	// digits and "_.:-". By is not called if the body cannot contain Text. Empty: no such text is
	// known.
	Text string
}

// Condition compiles a CEL expression on events. Its error describes the mistake in the expression.
type Condition func(ctx context.Context, text string) (Match, error)

// ConditionError is returned when Content.When cannot be compiled, or the Finder has no Condition.
type ConditionError struct {
	Text  string
	Cause error
}

// Error implements error.
func (e *ConditionError) Error() string { return "condition: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *ConditionError) Unwrap() error { return e.Cause }

// once returns a Condition that remembers the last text that it compiled.
func once(compile Condition) Condition {
	var mu sync.Mutex
	var known string
	var match Match
	remembered := func(text string) (Match, bool) {
		mu.Lock()
		defer mu.Unlock()
		return match, text == known
	}
	return func(ctx context.Context, text string) (Match, error) {
		if m, is := remembered(text); is {
			return m, nil
		}
		compiled, err := compile(ctx, text)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			known, match = text, compiled
		}
		return compiled, err
	}
}

// errNoConditions is the cause of a ConditionError if the Finder has no Condition.
var errNoConditions = errors.New("conditions are not supported here")

// match returns the Match of c, or nil if c selects everything. Errors: *ConditionError.
func (f *Finder) match(ctx context.Context, c Content) (*Match, error) {
	if c.IsZero() {
		return nil, nil
	}
	var m Match
	if c.When != "" {
		if f.condition == nil {
			return nil, &ConditionError{c.When, errNoConditions}
		}
		var err error
		m, err = f.condition(ctx, c.When)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &ConditionError{c.When, err}
		}
	}
	if c.Contains == "" {
		return &m, nil
	}
	when := m.By
	return &Match{
		Text: cmp.Or(m.Text, plainRun(c.Contains)),
		By: func(e *inbox.Event) (bool, error) {
			if found := payload.Contains(e.ContentType, e.Payload(), c.Contains); !found || when == nil {
				return found, nil
			}
			return when(e)
		},
	}, nil
}

// plainRun returns the longest run of ASCII letters and digits in a text. Encoders seldom escape
// such characters, and holding.sql allows for encoders that do.
func plainRun(text string) string {
	longest := ""
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}
