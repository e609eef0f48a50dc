package quarantine

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// A source's caps are divided into two halves. These constants limit the part of a half that a
// process may replace in an hour, once it has written that half. The caps bound the table, but a
// flood that keeps replacing its rows would still fill the WAL, an archive and replicas. The newest
// deliveries of a flood are hardly more valuable than the stored deliveries. The half for known
// addresses may replace a larger part. It is limited too, because all senders behind a proxy that
// is not in trusted_proxies have the proxy's address.
const (
	othersAnHour = 0.1
	knownAnHour  = 0.5
)

// allowance limits the writes to one half of a source's caps. It allows the whole half immediately,
// and then a part of it per hour, until at least half of that half is free again (see renew).
type allowance struct{ rows, bytes *rate.Limiter }

func newAllowance(anHour float64) allowance {
	limiter := func(most int) *rate.Limiter {
		return rate.NewLimiter(rate.Limit(anHour*float64(most)/time.Hour.Seconds()), most)
	}
	return allowance{rows: limiter(maxRows / 2), bytes: limiter(maxBytes / 2)}
}

// allows reports whether a delivery of the given size may be written now.
func (a allowance) allows(now time.Time, size int) bool {
	return a.rows.TokensAt(now) >= 1 && a.bytes.TokensAt(now) >= float64(size)
}

// spend counts a delivery to be written, and reports whether it may be written.
func (a allowance) spend(now time.Time, size int) bool {
	return a.allows(now, size) && a.rows.AllowN(now, 1) && a.bytes.AllowN(now, size)
}

// half identifies one half of a source's caps.
type half struct {
	source identity.Source
	known  bool
}

// content counts the rows in the table for one half of a source's caps, and their bytes.
type content struct {
	half

	rows, bytes int
}

// allowances holds the allowance of each half to which a delivery was offered.
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

// renew gives a half a new allowance for its free space, if at least half of its rows and of its
// bytes are free. A flood cannot cause this: a turn that writes rows beyond the caps frees far less.
func (a allowances) renew(c content, now time.Time) {
	if c.rows > maxRows/4 || c.bytes > maxBytes/4 {
		return
	}
	delete(a, c.half)
	renewed := a.of(c.half)
	renewed.rows.AllowN(now, c.rows)
	renewed.bytes.AllowN(now, c.bytes)
}
