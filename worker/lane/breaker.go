package worker

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Breaker says when a destination counts as down. Then it is paused for the
// whole fleet, until one probe, an attempt of its oldest due effect, succeeds.
// Each process counts the attempts it makes itself.
//
// An attempt fails when nothing usable came back: no connection, a time-out, a
// 5xx, or a 401, 403 or 407, which is mostly about the destination's credentials
// and not about the effect. It is about the effect when others succeeded while
// this one was refused again and again; then it counts neither way, as 425 and
// 429 do. Other refusals are answers.
type Breaker struct {
	// Never pauses the destination. Defaults to false.
	Off bool `yaml:"off,omitempty"`
	// Attempts in a row that fail, all within window of the one before. Defaults
	// to 10.
	Failures int `yaml:"failures,omitempty"`
	// Percentage of the attempts within window that fail. Defaults to 50.
	Percent int `yaml:"percent,omitempty"`
	// Attempts within window before percent counts. Defaults to 20.
	MinCalls int `yaml:"min_calls,omitempty"`
	// How long an attempt counts. Defaults to 30s.
	Window time.Duration `yaml:"window,omitempty"`
	// Wait for the first probe; it doubles with each. Defaults to 10s.
	Probe time.Duration `yaml:"probe,omitempty"`
	// Longest wait for a probe. Defaults to 5m, or to probe where that is longer.
	MaxProbe time.Duration `yaml:"max_probe,omitempty"`
}

// WithDefaults returns a copy in which what was left out has its default.
func (b Breaker) WithDefaults() Breaker {
	b.Failures = cmp.Or(b.Failures, 10)
	b.Percent = cmp.Or(b.Percent, 50)
	b.MinCalls = cmp.Or(b.MinCalls, 20)
	b.Window = cmp.Or(b.Window, 30*time.Second)
	b.Probe = cmp.Or(b.Probe, 10*time.Second)
	b.MaxProbe = cmp.Or(b.MaxProbe, max(5*time.Minute, b.Probe))
	return b
}

// Validate finds what is wrong with a breaker that has its defaults. Its error
// is option.Faults.
func (b Breaker) Validate() error {
	if b.Off {
		return nil
	}
	var c option.Check
	c.AtLeast("failures", int64(b.Failures), 1)
	c.Between("percent", int64(b.Percent), 1, 100, "a percentage")
	c.AtLeast("min_calls", int64(b.MinCalls), 1)
	c.Positive("window", b.Window)
	c.Positive("probe", b.Probe)
	if b.MaxProbe < b.Probe {
		c.Failf("max_probe", b.MaxProbe, "is shorter than probe, %s", b.Probe)
	}
	return c.Err()
}

// nextProbe doubles the wait: as long as the breaker has been open.
func (b Breaker) nextProbe(openedAt time.Time) time.Duration {
	return min(max(clock.Since(openedAt), b.Probe), b.MaxProbe)
}

// breakerSlices is into how many parts the window is divided; the oldest is
// forgotten as a whole.
const breakerSlices = 10

// breaker counts the attempts of one destination in this process. Whether the
// destination is paused is for the ledger to say: it holds for the fleet.
type breaker struct {
	Breaker

	now func() time.Time

	mu     sync.Mutex
	slices [breakerSlices]breakerSlice
	row    int       // failures since the last success
	last   time.Time // when the last of them was

	succeeded time.Time // the last success; reset does not forget it
}

// breakerSlice counts a part of the window.
type breakerSlice struct {
	begin         time.Time
	calls, failed int
}

func newBreaker(b Breaker, now func() time.Time) *breaker { return &breaker{Breaker: b, now: now} }

// record counts an attempt that has ended. It returns why the destination is to
// be paused, or nothing, and then begins anew. RefusedFor is how long ago the
// first of the latest attempts at the same effect began that were all refused
// for want of credentials; 0: the one before this was not.
func (b *breaker) record(sent destination.Outcome, refusedFor time.Duration) (reason string) {
	counts, failed := breakerCounts(sent)
	if b.Off || !counts {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !failed {
		b.succeeded = now
	}
	if isUnauthorized(sent.Status) && refusedFor > 0 && b.succeeded.After(now.Add(-refusedFor)) {
		return ""
	}
	length := b.Window / breakerSlices
	begin := now.Truncate(length)
	current := &b.slices[begin.UnixNano()/int64(length)%breakerSlices]
	if !current.begin.Equal(begin) {
		*current = breakerSlice{begin: begin}
	}
	current.calls++
	if !failed {
		b.row = 0
		return ""
	}
	current.failed++
	if now.Sub(b.last) > b.Window {
		b.row = 0
	}
	b.row, b.last = b.row+1, now
	calls, failures := 0, 0
	for _, s := range b.slices {
		if now.Sub(s.begin) < b.Window {
			calls, failures = calls+s.calls, failures+s.failed
		}
	}
	switch {
	case b.row >= b.Failures:
		reason = fmt.Sprintf("%d attempts in a row failed", b.row)
	case calls >= b.MinCalls && 100*failures >= b.Percent*calls:
		reason = fmt.Sprintf("%d of %d attempts failed within %s", failures, calls, b.Window)
	default:
		return ""
	}
	b.forget()
	return reason + ", the last with: " + errorLine(sent)
}

// lastSuccess is zero before the first.
func (b *breaker) lastSuccess() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.succeeded
}

// reset forgets what was counted: it is about the time before a pause.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
}

func (b *breaker) forget() { b.slices, b.row = [breakerSlices]breakerSlice{}, 0 }

// isUnauthorized says whether a receiver, or a proxy before it, refused the
// credentials.
func isUnauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

// breakerCounts is what an attempt says about its destination, if anything.
func breakerCounts(sent destination.Outcome) (counts, failed bool) {
	if sent.Verdict == ledger.VerdictDone {
		return true, false
	}
	if sent.NeedsPerson {
		return false, false // nothing was sent
	}
	switch sent.Status {
	case 425, 429:
		return false, false
	}
	if isUnauthorized(sent.Status) {
		return true, true
	}
	if sent.Verdict == ledger.VerdictRefused || sent.Verdict == ledger.VerdictTurnedAway {
		return sent.Status != 0, false // without a status, nothing was sent
	}
	return true, true
}
