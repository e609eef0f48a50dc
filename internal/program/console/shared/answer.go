// Package shared computes a value once for all concurrent callers.
package shared

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sharedFor is the time for which an answer is shared: twenty open pages cost as much as one.
	sharedFor = 2 * time.Second
	// glanceTimeout limits a computation for which no caller waits.
	glanceTimeout = 5 * time.Second
)

// Answer is a value shared by many callers. It is safe for concurrent use.
type Answer[T any] struct {
	Ask func(ctx context.Context) (T, error)
	Now func() time.Time

	mu     sync.Mutex                  // held during Ask: other callers wait for the same answer
	newest atomic.Pointer[answered[T]] // nil if there is no answer yet
	asking atomic.Bool                 // true while the Get that Glance started is running
}

// answered is an immutable answer and its time.
type answered[T any] struct {
	answer T
	at     time.Time
}

// Get returns the answer, which callers must not change. It calls Ask unless the last call
// succeeded less than sharedFor ago.
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

// Glance returns the newest answer without waiting. It returns false if there is no answer, or if
// the age of the answer is `stale` or more. If there is no answer, or if its age is `again` or
// more, Glance also calls Get in the background, one call at a time.
func (s *Answer[T]) Glance(again, stale time.Duration) (answer T, known bool) {
	last := s.newest.Load()
	if (last == nil || s.age(last) >= again) && s.asking.CompareAndSwap(false, true) {
		go func() {
			defer s.asking.Store(false)
			ctx, cancel := context.WithTimeout(context.Background(), glanceTimeout)
			defer cancel()
			_, _ = s.Get(ctx) // after an error, the next Glance tries again
		}()
	}
	if last == nil || s.age(last) >= stale {
		return answer, false
	}
	return last.answer, true
}

// age returns the age of an answer, or the maximum duration if the clock was set back since then.
func (s *Answer[T]) age(of *answered[T]) time.Duration {
	if age := s.Now().Sub(of.at); age >= 0 {
		return age
	}
	return time.Duration(1<<63 - 1)
}
