package console

import (
	"context"
	"sync"
	"time"
)

// sharedFor is how long one answer is for all who ask: twenty people who keep a page open
// cost what one does.
const sharedFor = 2 * time.Second

// shared is an answer that many ask for at the same time.
type shared[T any] struct {
	ask func(ctx context.Context) (T, error)
	now func() time.Time

	mu     sync.Mutex // held while it is asked: others wait for the same answer
	answer T
	at     time.Time // zero: there is none
}

// get returns the answer, which nobody may change. It is asked again when it is too old,
// and after an error.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= sharedFor || now.Before(s.at) {
		answer, err := s.ask(ctx)
		if err != nil {
			s.at = time.Time{}
			return answer, err
		}
		s.answer, s.at = answer, s.now()
	}
	return s.answer, nil
}
