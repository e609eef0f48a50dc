package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/outbox/find"
)

const (
	// maxTyped bounds the text of a condition that Conditions compile, in code points.
	maxTyped = 1_000
	// compileTimeout bounds how long a caller waits for a condition to be compiled,
	// with the wait for those before it.
	compileTimeout = 2 * time.Second
	// keptConditions is how many compiled conditions are kept.
	keptConditions = 64
)

// ErrCompileBusy means that a condition was not compiled in time: the caller may try
// again.
var ErrCompileBusy = errors.New("the condition was not compiled in time, as other conditions are being compiled: try again in a moment")

// errTypedTooDeep is errTooDeep of Conditions, whose parser allows no longer chains.
var errTypedTooDeep = tooDeepError(maxNesting)

// Conditions compile what people type into a process that has other work to do: short
// texts, one at a time, each once. They are safe for concurrent use.
type Conditions struct {
	env       *cel.Env
	timeout   time.Duration
	compiling chan struct{} // has a value while a condition is compiled

	mu    sync.Mutex // guards the rest
	known map[string]compiledCondition
	order []string // of known, the oldest first
}

// compiledCondition is a condition, or why there is none.
type compiledCondition struct {
	match find.Match
	err   error
}

// NewConditions declares what conditions see.
func NewConditions() (*Conditions, error) {
	envs, err := newExpressionEnvs()
	if err != nil {
		return nil, err
	}
	env, err := envs.dispatch.Extend(cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxTyped))
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	return &Conditions{env: env, timeout: compileTimeout, compiling: make(chan struct{}, 1), known: map[string]compiledCondition{}}, nil
}

// Compile compiles a text, as find.Condition does. When ctx ends or too much time passes it
// returns at once; a compilation that has begun goes on until its end, and holds up the
// next one for as long. Errors: ErrCompileBusy, and those of the text.
func (c *Conditions) Compile(ctx context.Context, text string) (find.Match, error) {
	if n := utf8.RuneCountInString(text); n > maxTyped {
		return find.Match{}, fmt.Errorf("has %d characters; at most %d are allowed", n, maxTyped)
	}
	if done, found := c.find(text); found {
		return done.match, done.err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrCompileBusy)
	defer cancel()
	select {
	case c.compiling <- struct{}{}:
	case <-ctx.Done():
		return find.Match{}, context.Cause(ctx)
	}
	compiled := make(chan compiledCondition, 1)
	go func() {
		defer func() { <-c.compiling }()
		done, found := c.find(text)
		if !found {
			done = c.compile(text)
			c.keep(text, done)
		}
		compiled <- done
	}()
	select {
	case done := <-compiled:
		return done.match, done.err
	case <-ctx.Done():
		return find.Match{}, context.Cause(ctx)
	}
}

// compile survives a panic of CEL, which would end the process.
func (c *Conditions) compile(text string) (done compiledCondition) {
	defer func() {
		if recovered := recover(); recovered != nil {
			done = compiledCondition{err: fmt.Errorf("cannot be compiled: %v", recovered)}
		}
	}()
	condition, err := compileCondition(c.env, text)
	if errors.Is(err, errTooDeep) {
		err = errTypedTooDeep
	}
	if err != nil {
		return compiledCondition{err: err}
	}
	return compiledCondition{match: condition.found()}
}

func (c *Conditions) find(text string) (compiledCondition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, found := c.known[text]
	return done, found
}

// keep remembers a compiled condition, in place of the oldest one when there are many.
func (c *Conditions) keep(text string, done compiledCondition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) == keptConditions {
		delete(c.known, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
	c.known[text] = done
	c.order = append(c.order, text)
}
