package gateway

import (
	"context"
	"sync"
	"time"
)

// patience is a context with a deadline. It starts its timer only when Done or Err is called.
// Few verifications wait for anything, and a timer for each would slow down all of them.
type patience struct {
	context.Context

	until time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

// withPatience returns a context that ends with ctx, or after d. The caller must call end when
// it no longer uses the context.
func withPatience(ctx context.Context, d time.Duration) *patience {
	return &patience{Context: ctx, until: time.Now().Add(d)}
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) {
	if until, limited := p.Context.Deadline(); limited && until.Before(p.until) {
		return until, true
	}
	return p.until, true
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} { return p.start().Done() }

// Err implements context.Context.
func (p *patience) Err() error { return p.start().Err() }

func (p *patience) start() context.Context {
	p.once.Do(func() { p.timed, p.cancel = context.WithDeadline(p.Context, p.until) })
	return p.timed
}

func (p *patience) end() {
	p.once.Do(func() { p.timed, p.cancel = p.Context, func() {} })
	p.cancel()
}
