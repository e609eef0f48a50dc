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
	// maxTyped is the maximum length of a condition that Conditions compiles, in code points.
	maxTyped = 1_000
	// compileTimeout is the maximum time that a caller waits for its condition to be compiled,
	// including the wait for earlier conditions.
	compileTimeout = 2 * time.Second
	// keptConditions is the maximum number of compiled conditions in the cache.
	keptConditions = 64
)

// ErrCompileBusy is returned when a condition was not compiled in time: the caller may try
// again.
var ErrCompileBusy = errors.New("the condition was not compiled in time, because other conditions are being compiled: try again in a moment")

// errTypedTooDeep is errTooDeep for texts that users type, whose chains are limited to maxNesting.
var errTypedTooDeep = tooDeepError(maxNesting)

// Conditions compiles conditions that users type, in a process that has other work to do. It
// accepts only short texts, compiles one at a time, and caches the results. It is safe for
// concurrent use.
type Conditions struct {
	env       *cel.Env
	timeout   time.Duration
	compiling chan struct{} // has a value while a condition is compiled

	mu    sync.Mutex // guards the fields below
	known map[string]compiledCondition
	order []string // texts in known, oldest first
}

// compiledCondition is a condition, or the reason why it could not be compiled.
type compiledCondition struct {
	match find.Match
	err   error
}

// NewConditions returns a Conditions with an empty cache.
func NewConditions() (*Conditions, error) {
	envs, err := newExpressionEnvs()
	if err == nil {
		envs, err = envs.typed()
	}
	if err != nil {
		return nil, err
	}
	return &Conditions{env: envs.dispatch, timeout: compileTimeout, compiling: make(chan struct{}, 1), known: map[string]compiledCondition{}}, nil
}

// Compile compiles a text, as find.Condition does. It returns immediately when ctx ends, and after
// compileTimeout at the latest. A compilation in progress continues to its end, and delays the next
// compilation. Errors: ErrCompileBusy, the cause of ctx, and the reason why the text cannot be
// compiled.
func (c *Conditions) Compile(ctx context.Context, text string) (find.Match, error) {
	if n := utf8.RuneCountInString(text); n > maxTyped {
		return find.Match{}, fmt.Errorf("has %d characters; at most %d are allowed", n, maxTyped)
	}
	if done, found := c.find(text); found {
		return done.match, done.err
	}
	var done compiledCondition
	err := c.InTurn(ctx, func() {
		var found bool
		if done, found = c.find(text); !found {
			done = c.compile(text)
			c.keep(text, done)
		}
	})
	if err != nil {
		return find.Match{}, err
	}
	return done.match, done.err
}

// InTurn calls compile when no other compilation is running, and waits until compile returns. It
// stops waiting when ctx ends or compileTimeout has passed. A compilation in progress then
// continues to its end, and delays the next compilation. Errors: ErrCompileBusy, and the cause of
// ctx.
func (c *Conditions) InTurn(ctx context.Context, compile func()) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrCompileBusy)
	defer cancel()
	select {
	case c.compiling <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	compiled := make(chan struct{})
	go func() {
		defer func() { <-c.compiling }()
		compile()
		close(compiled)
	}()
	select {
	case <-compiled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compile compiles a text. It recovers from a panic of CEL, which would otherwise crash the
// process.
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

// keep caches a compiled condition, in place of the oldest one if the cache is full.
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
