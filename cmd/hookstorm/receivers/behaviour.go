package receivers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// Behaviour is what a receiver does to a call.
type Behaviour string

// The behaviours over HTTP. A mail server does what comes nearest: see mailReply.
const (
	OK              Behaviour = "ok"                // apply it, 200
	Slow            Behaviour = "slow"              // apply it, 200 after a while
	Hang            Behaviour = "hang"              // apply it or not, never answer
	ResetBefore     Behaviour = "reset_before"      // cut the connection, nothing applied
	ResetAfterApply Behaviour = "reset_after_apply" // apply it, cut the connection
	HalfAnswer      Behaviour = "half_answer"       // apply it, cut the connection within the 200
	ErrorBefore     Behaviour = "error_before"      // 500, nothing applied
	ErrorAfterApply Behaviour = "error_after_apply" // apply it, 500
	Busy            Behaviour = "busy"              // 429 with Retry-After
	Unavailable     Behaviour = "unavailable"       // 503 with Retry-After
	Unauthorized    Behaviour = "unauthorized"      // 401
	Refused         Behaviour = "refused"           // 422
	Gone            Behaviour = "gone"              // 410
	Redirect        Behaviour = "redirect"          // 307 to a path that nobody may call
	EndlessBody     Behaviour = "endless_body"      // apply it, 200 with a body that does not end
	HugeHeader      Behaviour = "huge_header"       // apply it, 200 with a header of 512 KiB
	Switch          Behaviour = "switch"            // apply it, 101, and keep the connection open
	Random          Behaviour = "random"            // one of those after which an effect goes on
)

// Behaviours returns all there are.
func Behaviours() []Behaviour {
	return []Behaviour{
		OK, Slow, Hang, ResetBefore, ResetAfterApply, HalfAnswer, ErrorBefore, ErrorAfterApply, Busy, Unavailable,
		Unauthorized, Refused, Gone, Redirect, EndlessBody, HugeHeader, Switch, Random,
	}
}

// Final says whether the behaviour ends an effect for good: it is refused, and
// never applied.
func (b Behaviour) Final() bool { return b == Refused || b == Gone || b == Redirect }

// mix is what Random draws from, by weight. None of them is final, and those that
// hold a worker until its time is up are rare.
var mix = []struct {
	behaviour Behaviour
	weight    int
}{
	{OK, 60},
	{Slow, 5},
	{Hang, 1},
	{ResetBefore, 5},
	{ResetAfterApply, 7},
	{HalfAnswer, 4},
	{ErrorBefore, 5},
	{ErrorAfterApply, 6},
	{Busy, 2},
	{Unavailable, 2},
	{EndlessBody, 1},
	{HugeHeader, 2},
	{Switch, 2},
}

// orders are what each destination was told to do.
type orders struct {
	mu     sync.Mutex
	told   map[string]Behaviour
	dice   *rand.Rand
	weight int // of the whole mix
}

func newOrders(destinations []scenario.Destination, seed int64) *orders {
	o := &orders{told: make(map[string]Behaviour), dice: rand.New(rand.NewPCG(uint64(seed), 0x4eca11))} //nolint:gosec // a seed is to be repeated, not to be secret
	for _, d := range destinations {
		if d.Kind != "sql" {
			o.told[d.Name] = OK
		}
	}
	for _, m := range mix {
		o.weight += m.weight
	}
	return o
}

// Behave tells a destination what to do with the calls that come from now on. A
// destination or a behaviour that there is not is a mistake of the program.
func (r *Receivers) Behave(destination string, b Behaviour) {
	o := r.behaviour
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.told[destination]; !known || !slices.Contains(Behaviours(), b) {
		panic(fmt.Sprintf("there is no destination %q, or no behaviour %q", destination, b))
	}
	o.told[destination] = b
}

// next is what a destination does to its next call: never Random. Known is false
// for a destination that there is not.
func (o *orders) next(destination string) (_ Behaviour, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, known := o.told[destination]
	if b != Random {
		return b, known
	}
	n := o.dice.IntN(o.weight)
	for _, m := range mix {
		if n -= m.weight; n < 0 {
			return m.behaviour, known
		}
	}
	return OK, known
}

// coin falls on either side.
func (o *orders) coin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dice.IntN(2) == 0
}
