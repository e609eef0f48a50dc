package proof

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/strangers"
)

// Limits for the fetches that unverified requests can cause: certificates and keys that a request
// refers to before it is verified. Documents that have verified a request are not limited.
// Senders change their keys a few times a year, so one client never needs more.
const (
	askedInMinute          = 60 // fetches for all of a source's clients together; unknown senders may cause only a part of these
	askedInMinuteByNetwork = 15 // fetches for the unknown senders in one network
	askedInMinuteByClient  = 3
)

// Asker is the client whose request makes us fetch something from a sender.
type Asker struct {
	Client netip.Prefix // invalid if the address is unknown
	Known  bool         // true if an earlier delivery from this client was accepted
}

// AskerOf returns a request's client.
func AskerOf(r *provider.Request) Asker { return Asker{Client: r.Client, Known: r.Known} }

// ourselves is the Asker for documents that the configuration or verified content refers to.
var ourselves = Asker{Known: true}

// ErrFetchBudget means that a key or a certificate was not fetched because the budget is used up.
// Whether the request is genuine is then unknown.
var ErrFetchBudget = errors.New("too many unknown keys and certificates in a minute")

// FetchBudget counts a source's fetches in the current minute of this process's clock. It does not
// use the requests' times of arrival: an unknown sender could alternate between requests that
// arrived in two different minutes, and each change would start a new count. The zero value is
// ready for use.
type FetchBudget struct {
	mu        sync.Mutex
	minute    time.Time
	asked     int
	strangers int
	by        map[netip.Prefix]int // number of fetches for each client and for each network; a fetch adds at most two entries
}

// Take reports whether one more document may be fetched for a client, and counts that fetch. If the
// client's address is unknown or not public, only the limits for the whole source apply: an address
// that is not public belongs to a proxy that all clients share.
func (b *FetchBudget) Take(by Asker) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute := time.Now().Truncate(time.Minute); !minute.Equal(b.minute) {
		b.minute, b.asked, b.strangers, b.by = minute, 0, 0, map[netip.Prefix]int{}
	}
	client, network := by.Client, strangers.Network(by.Client)
	own := client.IsValid() && !client.Addr().IsPrivate() && !client.Addr().IsLoopback() && !client.Addr().IsLinkLocalUnicast()
	switch {
	case b.asked >= askedInMinute, own && b.by[client] >= askedInMinuteByClient:
		return false
	case by.Known:
	case b.strangers >= strangers.Part(askedInMinute), own && b.by[network] >= askedInMinuteByNetwork:
		return false
	default:
		b.strangers++
		b.by[network]++
	}
	b.asked++
	b.by[client]++
	return true
}
