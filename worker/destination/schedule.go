package destination

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
)

// maxWait is the maximum length of every wait, even if a receiver asks for more.
const maxWait = 24 * time.Hour

// Schedule determines the wait before the next attempt of an effect: exponential backoff with
// jitter, never shorter than a Retry-After. By default, twenty attempts spread over about ten
// hours: after 5 s, 10 s, 20 s, ... 43 min, then hourly.
type Schedule struct {
	// Wait after the first attempt. Defaults to 5s.
	Initial time.Duration `yaml:"initial,omitempty"`
	// Maximum wait, up to 24h. Defaults to 1h.
	Max time.Duration `yaml:"max,omitempty"`
	// Maximum number of attempts. After the last one the effect is parked, or failed if the
	// destination refused it. Defaults to 20.
	MaxAttempts int `yaml:"max_attempts,omitempty"`
	// Jitter is the random share of the wait, up to 1 (0.2: ±20 %); negative for no jitter. Defaults
	// to 0.2.
	Jitter float64 `yaml:"-"`
}

// WithDefaults returns a copy with the defaults filled in.
func (s Schedule) WithDefaults() Schedule {
	s.Initial = cmp.Or(s.Initial, 5*time.Second)
	s.Max = cmp.Or(s.Max, time.Hour)
	s.MaxAttempts = cmp.Or(s.MaxAttempts, 20)
	s.Jitter = cmp.Or(s.Jitter, 0.2)
	return s
}

// Validate checks a schedule. Its error is option.Faults.
func (s Schedule) Validate() error {
	s = s.WithDefaults()
	var c option.Check
	c.Positive("initial", s.Initial)
	c.Positive("max", s.Max)
	switch {
	case s.Max > 0 && s.Max < s.Initial:
		c.Failf("max", s.Max, "is shorter than initial, %s", s.Initial)
	case s.Max > maxWait:
		c.Failf("max", s.Max, "is too long; it must be at most %s", maxWait)
	}
	c.AtLeast("max_attempts", int64(s.MaxAttempts), 1)
	if s.Jitter > 1 {
		c.Failf("jitter", s.Jitter, "is too much; it must be at most 1")
	}
	return c.Err()
}

// Delay returns the wait after the given attempt, counted from 1. It is never shorter than
// retryAfter, up to 24 h. If retryAfter determines the wait, a random part is added, so that
// effects with the same retryAfter are not all sent at the same time. No wait is longer than 24 h.
// rnd returns numbers in [0, 1). If rnd is nil, Delay uses random numbers.
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
		// retryAfter is capped first, because the sum must not overflow.
		delay = min(retryAfter, maxWait) + time.Duration(jitter*random)
	}
	return min(max(delay, 0), maxWait)
}

// Exhausted reports whether the given attempt, counted from 1, was the last one.
func (s Schedule) Exhausted(attempt int) bool {
	return attempt >= s.WithDefaults().MaxAttempts
}
