package signin

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// maxAddresses is the maximum number of addresses that a [paced] records, and of known addresses
// that a [questions] remembers.
const maxAddresses = 4096

// paced limits how often each address may act.
type paced struct {
	now    func() time.Time
	every  rate.Limit
	atOnce int

	mu sync.Mutex
	of map[netip.Prefix]*rate.Limiter
}

func newPaced(now func() time.Time, every rate.Limit, atOnce int) *paced {
	return &paced{now: now, every: every, atOnce: atOnce, of: make(map[netip.Prefix]*rate.Limiter)}
}

// allow records an action of an address, and reports whether it is within the limit.
func (p *paced) allow(remote string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := addressOf(remote)
	known := p.of[from]
	if known == nil {
		p.makeRoom()
		known = rate.NewLimiter(p.every, p.atOnce)
		p.of[from] = known
	}
	return known.AllowN(p.now(), 1)
}

// makeRoom removes addresses from a full map: first the idle addresses, and then any addresses
// until a quarter of the map is free. Later calls then rarely find a full map.
func (p *paced) makeRoom() {
	if len(p.of) < maxAddresses {
		return
	}
	for from, one := range p.of {
		if one.TokensAt(p.now()) >= float64(p.atOnce) {
			delete(p.of, from)
		}
	}
	for from := range p.of {
		if len(p.of) < maxAddresses/4*3 {
			return
		}
		delete(p.of, from)
	}
}

// addressOf returns the unit for counting requests: an IPv4 address, or an IPv6 /64.
func addressOf(remote string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	return strangers.Address(peer.Addr())
}
