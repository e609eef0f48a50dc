package signin

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How fast one address may be wrong about the token.
const (
	guessesASecond = 1
	guessesAtOnce  = 10
	maxGuessers    = 4096 // addresses that are remembered
)

// guesses throttles who guesses the token, by the address that does. An address
// that has guessed too often is refused before its token is looked at; a right
// one from anywhere else is never held up by that.
type guesses struct {
	now func() time.Time

	mu        sync.Mutex
	byAddress map[netip.Prefix]*rate.Limiter
}

func newGuesses(now func() time.Time) *guesses {
	return &guesses{now: now, byAddress: make(map[netip.Prefix]*rate.Limiter)}
}

// verdict is the answer to a request with a token.
type verdict int

const (
	right verdict = iota
	wrong
	throttled
)

// judge asks isRight unless the address has guessed too often. The lock is held
// while it does, so that guesses at the same time are counted one by one.
func (g *guesses) judge(remote string, isRight func() bool) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	from := guesser(remote)
	known := g.byAddress[from]
	if known != nil && known.TokensAt(g.now()) < 1 {
		return throttled
	}
	if isRight() {
		return right
	}
	if known == nil {
		g.makeRoom()
		known = rate.NewLimiter(guessesASecond, guessesAtOnce)
		g.byAddress[from] = known
	}
	known.AllowN(g.now(), 1)
	return wrong
}

// makeRoom forgets the addresses that have not guessed for a while, or else any:
// many at once, so that it is seldom done.
func (g *guesses) makeRoom() {
	if len(g.byAddress) < maxGuessers {
		return
	}
	for from, one := range g.byAddress {
		if one.TokensAt(g.now()) >= guessesAtOnce {
			delete(g.byAddress, from)
		}
	}
	for from := range g.byAddress {
		if len(g.byAddress) < maxGuessers/4*3 {
			return
		}
		delete(g.byAddress, from)
	}
}

// guesser is what guesses are counted by: an IPv4 address, or an IPv6 /64.
func guesser(remote string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := peer.Addr().Unmap().WithZone(""), 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // fails for more bits than an address has only
	return prefix
}
