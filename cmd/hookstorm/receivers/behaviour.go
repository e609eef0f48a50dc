package receivers

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// Behaviour is the way a receiver handles a call.
type Behaviour string

// The behaviours over HTTP. A mail server does the closest equivalent.
const (
	OK              Behaviour = "ok"                // apply the call, 200
	Slow            Behaviour = "slow"              // apply the call, 200 after a while
	Hang            Behaviour = "hang"              // apply the call or not, never respond
	ResetBefore     Behaviour = "reset_before"      // cut the connection, nothing applied
	ResetAfterApply Behaviour = "reset_after_apply" // apply the call, cut the connection
	HalfAnswer      Behaviour = "half_answer"       // apply the call, cut the connection in the middle of the 200
	ErrorBefore     Behaviour = "error_before"      // 500, nothing applied
	ErrorAfterApply Behaviour = "error_after_apply" // apply the call, 500
	Busy            Behaviour = "busy"              // 429 with Retry-After
	Unavailable     Behaviour = "unavailable"       // 503 with Retry-After
	Unauthorized    Behaviour = "unauthorized"      // 401
	Refused         Behaviour = "refused"           // 422
	Gone            Behaviour = "gone"              // 410
	Redirect        Behaviour = "redirect"          // 307 to a path that no caller may request
	EndlessBody     Behaviour = "endless_body"      // apply the call, 200 with a body that does not end
	HugeHeader      Behaviour = "huge_header"       // apply the call, 200 with a header of 512 KiB
	Switch          Behaviour = "switch"            // apply the call, 101, and keep the connection open
	Random          Behaviour = "random"            // random for each call, never Final
)

// act describes how a behaviour handles a call, and what the caller knows about the result.
type act struct {
	behaviour Behaviour
	weight    int // weight when Random draws; behaviours that occupy a worker until its timeout are rare
	applies   bool
	kind      history.Kind // result over HTTP
	status    int          // 0 without a response
	text      string       // note in the history, for human readers
	// mail is the SMTP response code, 0 for none. A server that answers 4yz or 5yz after the final
	// dot has not accepted the message (RFC 5321, section 4.2.5). So the mail server of a run
	// never applies a message and then answers with an error.
	mail int
}

// acts lists the acts of all behaviours except Random.
var acts = []act{
	{OK, 60, true, history.OK, http.StatusOK, "", 250},
	{Slow, 5, true, history.OK, http.StatusOK, "", 250},
	{Hang, 1, false, history.Unknown, 0, "not answered", 0},
	{ResetBefore, 5, false, history.Unknown, 0, "cut", 0},
	{ResetAfterApply, 7, true, history.Unknown, 0, "cut", 0},
	{HalfAnswer, 4, true, history.Unknown, 0, "cut within the answer", 0},
	{ErrorBefore, 5, false, history.Unknown, http.StatusInternalServerError, "", 451},
	{ErrorAfterApply, 6, true, history.Unknown, http.StatusInternalServerError, "", 0},
	{Busy, 2, false, history.Fail, http.StatusTooManyRequests, "", 451},
	// The caller cannot know whether a proxy sent the response after the receiver had applied the
	// call.
	{Unavailable, 2, false, history.Unknown, http.StatusServiceUnavailable, "", 451},
	{Unauthorized, 0, false, history.Fail, http.StatusUnauthorized, "", 530},
	{Refused, 0, false, history.Fail, http.StatusUnprocessableEntity, "", 550},
	{Gone, 0, false, history.Fail, http.StatusGone, "", 550},
	{Redirect, 0, false, history.Fail, http.StatusTemporaryRedirect, "", 550},
	{EndlessBody, 1, true, history.OK, http.StatusOK, "", 0},
	{HugeHeader, 2, true, history.Unknown, http.StatusOK, "in a header that no caller accepts", 0},
	{Switch, 2, true, history.Unknown, http.StatusSwitchingProtocols, "the connection stays open", 0},
}

// act returns the behaviour's act. Random has no act.
func (b Behaviour) act() act {
	return acts[slices.IndexFunc(acts, func(a act) bool { return a.behaviour == b })]
}

// Behaviours returns all behaviours, including Random.
func Behaviours() []Behaviour {
	var all []Behaviour
	for _, a := range acts {
		all = append(all, a.behaviour)
	}
	return append(all, Random)
}

// Final reports whether the behaviour makes an effect fail permanently: the call is refused, and
// never applied.
func (b Behaviour) Final() bool { return b == Refused || b == Gone || b == Redirect }

// orders holds the current behaviours of the destinations.
type orders struct {
	mu     sync.Mutex
	told   map[string]Behaviour
	dice   *rand.Rand
	weight int // total weight of all acts
}

func newOrders(destinations []scenario.Destination, seed int64) *orders {
	o := &orders{told: make(map[string]Behaviour), dice: rand.New(rand.NewPCG(uint64(seed), 0x4eca11))} //nolint:gosec // the numbers must be repeatable, not secret
	for _, d := range destinations {
		if d.Kind != "sql" {
			o.told[d.Name] = OK
		}
	}
	for _, a := range acts {
		o.weight += a.weight
	}
	return o
}

// Behave sets a destination's behaviour for the calls from now on. It panics if the
// destination or the behaviour does not exist.
func (r *Receivers) Behave(destination string, b Behaviour) {
	o := r.behaviour
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.told[destination]; !known || !slices.Contains(Behaviours(), b) {
		panic(fmt.Sprintf("there is no destination %q, or no behaviour %q", destination, b))
	}
	o.told[destination] = b
}

// next returns the behaviour for a destination's next call, never Random. It returns false if the
// destination does not exist.
func (o *orders) next(destination string) (_ Behaviour, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, known := o.told[destination]
	if b != Random {
		return b, known
	}
	n := o.dice.IntN(o.weight)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			return a.behaviour, known
		}
	}
	return OK, known
}

func (o *orders) coin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dice.IntN(2) == 0
}
