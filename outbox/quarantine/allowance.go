package quarantine

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The part of its half of the caps that a process may replace in an hour once it has
// written that half. The caps bound the table; a flood that replaces its rows without end
// would still fill the WAL, an archive and replicas. What is newest of a flood is hardly
// worth more than what is kept. Known addresses have more: behind a proxy that is not
// configured, strangers have the address of a known sender.
const (
	othersAnHour = 0.1
	knownAnHour  = 0.5
)

// allowance is what may be written of one half of a source: the half at once, and then a
// part of it an hour.
type allowance struct{ rows, bytes *rate.Limiter }

func newAllowance(anHour float64) allowance {
	limiter := func(most int) *rate.Limiter {
		return rate.NewLimiter(rate.Limit(anHour*float64(most)/time.Hour.Seconds()), most)
	}
	return allowance{rows: limiter(maxRows / 2), bytes: limiter(maxBytes / 2)}
}

// allows reports whether a delivery of a size may be written now.
func (a allowance) allows(now time.Time, size int) bool {
	return a.rows.TokensAt(now) >= 1 && a.bytes.TokensAt(now) >= float64(size)
}

// spend counts a delivery that is written, and reports whether it may be.
func (a allowance) spend(now time.Time, size int) bool {
	return a.allows(now, size) && a.rows.AllowN(now, 1) && a.bytes.AllowN(now, size)
}

// half is what shares one half of the caps.
type half struct {
	source identity.Source
	known  bool
}

// allowances are those of all halves that had a delivery refused.
type allowances map[half]allowance

func (a allowances) of(h half) allowance {
	one, ok := a[h]
	if !ok {
		one = newAllowance(othersAnHour)
		if h.known {
			one = newAllowance(knownAnHour)
		}
		a[h] = one
	}
	return one
}
