// Package shared computes an answer once for all who ask for it at the same time.
package shared

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sharedFor is how long one answer is for all who ask: twenty people who keep a page
	// open cost what one does.
	sharedFor = 2 * time.Second
	// glanceTimeout bounds what is asked for while nobody waits for it.
	glanceTimeout = 5 * time.Second
)

// Answer is one that many ask for. It is safe for concurrent use.
type Answer[T any] struct {
	Ask func(ctx context.Context) (T, error)
	Now func() time.Time

	mu     sync.Mutex                  // held while it is asked: others wait for the same answer
	newest atomic.Pointer[answered[T]] // nil: there is none
	asking atomic.Bool                 // by Glance
}

// answered is an answer, which nobody may change, and when it was one.
type answered[T any] struct {
	answer T
	at     time.Time
}

// Get returns the answer, which nobody may change. It is asked again when it is too old,
// and after an error.
func (s *Answer[T]) Get(ctx context.Context) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.newest.Load(); known != nil && s.age(known) < sharedFor {
		return known.answer, nil
	}
	answer, err := s.Ask(ctx)
	if err != nil {
		s.newest.Store(nil)
		return answer, err
	}
	s.newest.Store(&answered[T]{answer, s.Now()})
	return answer, nil
}

// Glance returns the newest answer, and false when there is none or it is stale. It never
// waits: when the answer is so old that it should be asked for again, that is done while
// the caller goes on, once at a time.
func (s *Answer[T]) Glance(again, stale time.Duration) (answer T, known bool) {
	last := s.newest.Load()
	if (last == nil || s.age(last) >= again) && s.asking.CompareAndSwap(false, true) {
		go func() {
			defer s.asking.Store(false)
			ctx, cancel := context.WithTimeout(context.Background(), glanceTimeout)
			defer cancel()
			_, _ = s.Get(ctx) // without an answer there is nothing to show
		}()
	}
	if last == nil || s.age(last) >= stale {
		return answer, false
	}
	return last.answer, true
}

// age is how old an answer is: very, when the clock was set back since.
func (s *Answer[T]) age(of *answered[T]) time.Duration {
	if age := s.Now().Sub(of.at); age >= 0 {
		return age
	}
	return time.Duration(1<<63 - 1)
}
