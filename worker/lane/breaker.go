package lane

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Breaker decides when a destination is down. The destination is then paused in all processes until
// a probe succeeds. A probe is an attempt of the destination's oldest due effect. Each process
// counts its own attempts.
//
// An attempt counts as failed if it got no usable response: no connection, a timeout, a 5xx, or a
// 401, 403 or 407, whose cause is usually the destination's credentials, not the effect. If other
// effects succeed while one is refused repeatedly, the cause is that effect: its refusals do not
// count, and neither do 425 and 429. Other refusals count as successes.
type Breaker struct {
	// If true, the breaker never pauses the destination. Defaults to false.
	Off bool `yaml:"off,omitempty"`
	// Number of consecutive failed attempts that pauses the destination. Each must follow the
	// previous failure within window. Defaults to 10.
	Failures int `yaml:"failures,omitempty"`
	// Percentage of failed attempts within window that pauses the destination. Defaults to 50.
	Percent int `yaml:"percent,omitempty"`
	// Minimum number of attempts within window for percent to apply. Defaults to 20.
	MinCalls int `yaml:"min_calls,omitempty"`
	// Time for which an attempt is counted. Defaults to 30s.
	Window time.Duration `yaml:"window,omitempty"`
	// Wait before the first probe; the wait doubles with each probe. Defaults to 10s.
	Probe time.Duration `yaml:"probe,omitempty"`
	// Maximum wait between probes. Defaults to 5m, or probe if that is longer.
	MaxProbe time.Duration `yaml:"max_probe,omitempty"`
}

// WithDefaults returns a copy with the defaults filled in.
func (b Breaker) WithDefaults() Breaker {
	b.Failures = cmp.Or(b.Failures, 10)
	b.Percent = cmp.Or(b.Percent, 50)
	b.MinCalls = cmp.Or(b.MinCalls, 20)
	b.Window = cmp.Or(b.Window, 30*time.Second)
	b.Probe = cmp.Or(b.Probe, 10*time.Second)
	b.MaxProbe = cmp.Or(b.MaxProbe, max(5*time.Minute, b.Probe))
	return b
}

// minWindow is the minimum Window. The parts of a window must be longer than a tick of the clock.
const minWindow = time.Millisecond

// Validate checks a breaker after WithDefaults. Its error is option.Faults.
func (b Breaker) Validate() error {
	if b.Off {
		return nil
	}
	var c option.Check
	c.AtLeast("failures", int64(b.Failures), 1)
	c.Between("percent", int64(b.Percent), 1, 100, "a percentage")
	c.AtLeast("min_calls", int64(b.MinCalls), 1)
	c.Positive("window", b.Window)
	if b.Window > 0 && b.Window < minWindow {
		c.Failf("window", b.Window, "is too short; it must be at least %s", minWindow)
	}
	c.Positive("probe", b.Probe)
	if b.MaxProbe < b.Probe {
		c.Failf("max_probe", b.MaxProbe, "is shorter than probe, %s", b.Probe)
	}
	return c.Err()
}

// NextProbe returns the wait for the next probe. The wait equals the time that the breaker has been
// open, so waits double. It is at least Probe and at most MaxProbe.
func (b Breaker) NextProbe(openedAt time.Time) time.Duration {
	return min(max(clock.Since(openedAt), b.Probe), b.MaxProbe)
}

// breakerSlices is the number of parts of the window. The oldest part is dropped whole.
const breakerSlices = 10

// breaker counts the attempts of one destination in this process. Package fleet stores whether the
// destination is paused, because a pause applies to all processes.
type breaker struct {
	opts Breaker
	now  func() time.Time

	mu     sync.Mutex
	slices [breakerSlices]breakerSlice
	row    int       // consecutive failures, each within Window of the previous one
	since  time.Time // start of the earliest of these failed attempts
	last   time.Time // time of the last failure

	succeeded time.Time // time of the last success; Forget keeps it
}

// breakerSlice contains the counts for a part of the window.
type breakerSlice struct {
	begin         time.Time
	calls, failed int
	since         time.Time // start of the earliest failed attempt
}

func newBreaker(b Breaker, now func() time.Time) *breaker { return &breaker{opts: b, now: now} }

// Record counts an attempt that has ended. If the destination must be paused, Record returns the
// reason and resets the counts; otherwise it returns an empty string. If the attempt's credentials
// were refused, refusedFor is the time since the first of the effect's consecutive refusals for
// that reason. It is 0 unless the previous attempt was also refused for that reason.
func (b *breaker) Record(sent destination.Outcome, refusedFor time.Duration) (reason string) {
	reason, _ = b.RecordAttempt(sent, refusedFor, 0)
	return reason
}

// RecordAttempt is like Record, for an attempt that took the given time. With a reason, it also
// returns the time since the earliest of the failed attempts began. If the destination has worked
// since that start, the failures are no reason for a pause: see fleet.Fleet.TripSince.
func (b *breaker) RecordAttempt(sent destination.Outcome, refusedFor, took time.Duration) (reason string, failing time.Duration) {
	counts, failed := Counts(sent)
	if b.opts.Off || !counts {
		return "", 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !failed {
		b.succeeded = now
	}
	if Unauthorized(sent.Status) && refusedFor > 0 && b.succeeded.After(now.Add(-refusedFor)) {
		return "", 0
	}
	began := now.Add(-took)
	length := b.opts.Window / breakerSlices
	begin := now.Truncate(length)
	current := &b.slices[begin.UnixNano()/int64(length)%breakerSlices]
	if !current.begin.Equal(begin) {
		*current = breakerSlice{begin: begin}
	}
	current.calls++
	if !failed {
		b.row = 0
		return "", 0
	}
	if current.failed++; current.failed == 1 || began.Before(current.since) {
		current.since = began
	}
	if now.Sub(b.last) > b.opts.Window {
		b.row = 0
	}
	if b.row++; b.row == 1 || began.Before(b.since) {
		b.since = began
	}
	b.last = now
	calls, failures, since := 0, 0, began
	for _, s := range &b.slices {
		if now.Sub(s.begin) < b.opts.Window {
			calls, failures = calls+s.calls, failures+s.failed
			if s.failed > 0 && s.since.Before(since) {
				since = s.since
			}
		}
	}
	switch {
	case b.row >= b.opts.Failures:
		reason, since = noun.Counted(b.row, "attempt")+" in a row failed", b.since
	case calls >= b.opts.MinCalls && 100*failures >= b.opts.Percent*calls:
		reason = fmt.Sprintf("%d of %d attempts failed within %s", failures, calls, b.opts.Window)
	default:
		return "", 0
	}
	b.forget()
	return reason, now.Sub(since)
}

// LastSuccess returns the time of the last attempt that counted as a success, or the zero time.
func (b *breaker) LastSuccess() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.succeeded
}

// Forget discards the counts, because the attempts happened before a pause. It keeps the time of
// the last success.
func (b *breaker) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
}

func (b *breaker) forget() { b.slices, b.row = [breakerSlices]breakerSlice{}, 0 }

// Unauthorized reports whether a receiver, or a proxy in front of it, refused the credentials.
func Unauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

// Counts reports whether the breaker counts an attempt, and whether it counts the attempt as a
// failure of the destination.
func Counts(sent destination.Outcome) (counts, failed bool) {
	if sent.Verdict == ledger.VerdictDone {
		return true, false
	}
	if sent.NeedsPerson {
		return false, false // nothing was sent
	}
	switch sent.Status {
	case http.StatusTooEarly, http.StatusTooManyRequests:
		return false, false
	}
	if Unauthorized(sent.Status) {
		return true, true
	}
	if sent.Verdict == ledger.VerdictRefused || sent.Verdict == ledger.VerdictTurnedAway {
		return sent.Status != 0, false // a refusal without a status proves nothing
	}
	return true, true
}
