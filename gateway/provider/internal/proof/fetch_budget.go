package proof

import (
	"errors"
	"net/netip"
	"sync"
	"time"
)

// Limits of what strangers can have us ask a sender for: certificates and keys
// that a request names before anything of it is proven. What has proven
// something is outside them. Senders change their keys a few times a year, so
// that one client never needs more.
const (
	askedInMinute         = 60 // by all clients of a source together
	askedInMinuteByClient = 3
)

// ErrFetchBudget means that a key or a certificate was not asked for, so that it
// is not known whether the request is genuine.
var ErrFetchBudget = errors.New("too many unknown keys and certificates in a minute")

// FetchBudget counts what a source asked for in the current minute. Its zero
// value is ready.
type FetchBudget struct {
	mu     sync.Mutex
	minute time.Time
	asked  int
	by     map[netip.Prefix]int // by client; as many as were asked for at most
}

// Take reports whether a client may have one more thing asked for. Without the
// client's own address only the limit of all holds: a private one is that of a
// proxy, for which everybody comes from there.
func (b *FetchBudget) Take(client netip.Prefix, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute := now.Truncate(time.Minute); !minute.Equal(b.minute) {
		b.minute, b.asked, b.by = minute, 0, map[netip.Prefix]int{}
	}
	own := client.IsValid() && !client.Addr().IsPrivate() && !client.Addr().IsLoopback() && !client.Addr().IsLinkLocalUnicast()
	if b.asked >= askedInMinute || own && b.by[client] >= askedInMinuteByClient {
		return false
	}
	b.asked++
	b.by[client]++
	return true
}
