package checker

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// facts are what a history tells, by the keys that the rules ask for. Times are
// microseconds since the run began.
type facts struct {
	run          history.Run
	events       map[identity.EventRef]*event
	effects      map[identity.EffectID]*effect
	calls        map[string][]*call               // by the effect's own key, in the order they came
	enqueues     map[identity.EffectID][]*enqueue // what the application asked for
	deliveries   []*delivery
	deployments  []*deployment // in the order they began, the zero one first; empty: none began
	orders       []*order
	faults       map[string]int // that fired and were real, by kind
	bodies       map[string]bodyRow
	logged       map[instruction]int64 // what the operator log says was done, and how often
	bulk         map[string]actionRow  // the bulk runs that the operator log says began, by their names, as run 7
	destinations map[string]destinationRow
	objects      map[object]objectRow
	windows      []windowRow
	copies       []copyRow
	books        map[string]int // rows of torture.books, by event id
	application  map[string]int // rows of torture.orders_of_application, by key
	rows         map[string]int // of each table
	clock        int64          // what to add to a time of the database; 0: there is no snapshot
}

// event is everything that was said of one event.
type event struct {
	ref        identity.EventRef
	deliveries []*delivery // in the order they began
	row        *eventRow
	rows       int
	replays    []replayRow
	effects    []link
	handled    []int // generations, a row each
	jobs       int
}

// delivery is one request of a sender.
type delivery struct {
	source   string
	events   []*event
	hash     string
	signed   bool
	listed   bool // by its sender: its events must be there in the end
	began    int64
	ended    int64 // forever, unless it is known
	kind     history.Kind
	status   int
	accepted bool // at least one of its events was new
	known    bool // all of its events were known: a duplicate
}

// acknowledged tells that the sender may rely on it.
func (d *delivery) acknowledged() bool { return d.kind == history.OK }

// mayCount tells that it may have been accepted: it was, or nobody knows. A 5xx
// says as little as none: the answer to COMMIT may have been what was missing.
func (d *delivery) mayCount() bool { return d.kind != history.Fail || d.status >= 500 }

// call is one request that a receiver got.
type call struct {
	key         string // as it was on the wire
	destination string
	hash        string
	began       int64
	ended       int64
	applied     bool // by this call
	known       bool // by an earlier one
	status      int
}

// confirmed tells that the receiver said it was applied.
func (c *call) confirmed() bool { return c.status >= 200 && c.status < 300 }

// enqueue is one transaction of the application that enqueued an effect.
type enqueue struct {
	history.Enqueue

	kind history.Kind
}

// mayStand tells that its effect may be there.
func (e *enqueue) mayStand() bool { return !e.Rollback && e.kind != history.Fail }

// order is what a person ordered.
type order struct {
	history.Order

	began int64
	ended int64
	kind  history.Kind
}

// instruction is an order as the operator log names it.
type instruction struct{ action, target string }

// effect is everything that was said of one effect.
type effect struct {
	id          identity.EffectID
	row         *effectRow
	rows        int
	links       []*event
	attempts    []attemptRow
	transitions []transitionRow
	jobs        int
}

// link is an effect that an event led to.
type link struct {
	effect     *effect
	suppressed bool // another event had made it
}

// name is how people call the effect: by its idempotency key.
func (e *effect) name() string { return e.id.IdempotencyKey() }

// object is what latest_by names.
type object struct{ scope, key string }

func newFacts() *facts {
	return &facts{
		events: make(map[identity.EventRef]*event), effects: make(map[identity.EffectID]*effect),
		calls: make(map[string][]*call), enqueues: make(map[identity.EffectID][]*enqueue),
		faults: make(map[string]int), bodies: make(map[string]bodyRow), logged: make(map[instruction]int64), bulk: make(map[string]actionRow),
		destinations: make(map[string]destinationRow), objects: make(map[object]objectRow),
		books: make(map[string]int), application: make(map[string]int), rows: make(map[string]int),
	}
}

func (f *facts) event(source, id string) *event {
	ref := identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
	e := f.events[ref]
	if e == nil {
		e = &event{ref: ref}
		f.events[ref] = e
	}
	return e
}

func (f *facts) effect(id identity.EffectID) *effect {
	e := f.effects[id]
	if e == nil {
		e = &effect{id: id}
		f.effects[id] = e
	}
	return e
}
