package destination

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"
)

// Defaults of a Schedule.
const (
	DefaultInitial     = 5 * time.Second
	DefaultMax         = time.Hour
	DefaultMaxAttempts = 20
	DefaultJitter      = 0.2
)

// maxWait bounds every wait, whatever a receiver asks for.
const maxWait = 24 * time.Hour

// Schedule is when the next attempt of an effect follows: exponential backoff
// with jitter. With the defaults twenty attempts spread over about ten hours:
// after 5 s, 10 s, 20 s, ... 43 min, then hourly.
type Schedule struct {
	Initial     time.Duration // wait after the first attempt; 0: 5 s
	Max         time.Duration // longest wait before jitter; 0: 1 h
	MaxAttempts int           // attempts in all; 0: 20
	Jitter      float64       // share of the wait that is random, up to 1 (0.2: ±20 %); 0: 0.2; negative: none
}

// WithDefaults returns a copy whose zero fields have their defaults.
func (s Schedule) WithDefaults() Schedule {
	s.Initial = cmp.Or(s.Initial, DefaultInitial)
	s.Max = cmp.Or(s.Max, DefaultMax)
	s.MaxAttempts = cmp.Or(s.MaxAttempts, DefaultMaxAttempts)
	s.Jitter = cmp.Or(s.Jitter, DefaultJitter)
	return s
}

// Validate names the field, its bound and the given value.
func (s Schedule) Validate() error {
	s = s.WithDefaults()
	switch {
	case s.Initial < 0:
		return fmt.Errorf("initial wait must be more than 0, got %s", s.Initial)
	case s.Max < s.Initial:
		return fmt.Errorf("longest wait must be at least the initial wait of %s, got %s", s.Initial, s.Max)
	case s.Max > maxWait:
		return fmt.Errorf("longest wait must be at most %s, got %s", maxWait, s.Max)
	case s.MaxAttempts < 0:
		return fmt.Errorf("attempts must be at least 1, got %d", s.MaxAttempts)
	case s.Jitter > 1:
		return fmt.Errorf("jitter must be at most 1, got %g", s.Jitter)
	}
	return nil
}

// Delay is how long to wait after the given attempt, counted from 1. A
// Retry-After is honoured as a minimum, with some jitter on top so that the
// effects a receiver turned away together do not come back together. No wait
// is longer than 24 h. Rnd returns numbers in [0, 1); nil means a fresh random one.
func (s Schedule) Delay(attempt int, retryAfter time.Duration, rnd func() float64) time.Duration {
	s = s.WithDefaults()
	if rnd == nil {
		rnd = rand.Float64
	}
	wait := s.Initial
	for i := 1; i < attempt && wait < s.Max; i++ {
		wait *= 2
	}
	wait = min(wait, s.Max)
	random, jitter := rnd(), float64(wait)*max(s.Jitter, 0)
	delay := time.Duration(float64(wait) - jitter + 2*jitter*random)
	if delay < retryAfter {
		// Capped first: the sum must not overflow.
		delay = min(retryAfter, maxWait) + time.Duration(jitter*random)
	}
	return min(max(delay, 0), maxWait)
}

// Exhausted tells whether the given attempt, counted from 1, was the last one.
func (s Schedule) Exhausted(attempt int) bool {
	return attempt >= s.WithDefaults().MaxAttempts
}
