package checker

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// facts holds the content of a history, indexed by the keys that the rules need. Times are in
// microseconds since the run began.
type facts struct {
	run          history.Run
	events       map[identity.EventRef]*event
	effects      map[identity.EffectID]*effect
	calls        map[string][]*call               // by the effect's unrotated key, in order of arrival
	enqueues     map[identity.EffectID][]*enqueue // transactions that enqueued the effect, and resends
	deliveries   []*delivery
	deployments  []*deployment // in the order they began, starting with a zero deployment; empty if none began
	orders       []*order
	faults       map[string]int // faults that fired and were not simulated, by kind
	bodies       map[string]bodyRow
	logged       map[instruction]int64 // actions in the operator log, with their counts
	bulk         map[string]actionRow  // bulk runs that the operator log contains, by name, such as run 7
	destinations map[string]destinationRow
	objects      map[object]objectRow
	windows      []windowRow
	copies       []copyRow
	books        map[string]int // rows of torture.books, by event id
	application  map[string]int // rows of torture.orders_of_application, by key
	rows         map[string]int // row counts by table
	clock        int64          // offset to add to a database time; 0 if the history has no snapshot
}

// event contains everything that the history records about one event.
type event struct {
	ref        identity.EventRef
	deliveries []*delivery // in the order they began
	row        *eventRow
	rows       int
	replays    []replayRow
	effects    []link
	handled    []int // the generation in each row that a handler wrote
	jobs       int
}

// delivery is one request of a sender.
type delivery struct {
	source   string
	events   []*event
	hash     string
	signed   bool
	listed   bool // in its sender's list: its events must be stored at the end
	began    int64
	ended    int64 // forever if the outcome is unknown
	kind     history.Kind
	status   int
	accepted bool // at least one of its events was new
	known    bool // all of its events were stored before: a duplicate
}

// acknowledged reports whether the gateway answered 2xx, so that the sender relies on the
// delivery.
func (d *delivery) acknowledged() bool { return d.kind == history.OK }

// mayCount reports whether the delivery was or may have been accepted. After a 5xx or without a
// response the outcome is unknown: the gateway may have lost the COMMIT response.
func (d *delivery) mayCount() bool { return d.kind != history.Fail || d.status >= 500 }

// call is one request that arrived at a receiver.
type call struct {
	key         string // as sent
	destination string
	hash        string
	began       int64
	ended       int64
	applied     bool // the receiver applied this call
	known       bool // the receiver had applied an earlier call with the key
	status      int
}

// confirmed reports whether the receiver confirmed the call with a 2xx.
func (c *call) confirmed() bool { return c.status >= 200 && c.status < 300 }

// enqueue is one transaction of the application that enqueued an effect, or one resend of an effect
// by an operator.
type enqueue struct {
	history.Enqueue

	kind history.Kind
}

// mayStand reports whether the enqueued effect may be stored.
func (e *enqueue) mayStand() bool { return !e.Rollback && e.kind != history.Fail }

// order is one operator action: on an event, an effect, a destination or a source, or as a bulk
// run.
type order struct {
	history.Order

	began int64
	ended int64
	kind  history.Kind
}

// instruction is an operator action as the operator log names it.
type instruction struct{ action, target string }

// effect contains everything that the history records about one effect.
type effect struct {
	id          identity.EffectID
	row         *effectRow
	rows        int
	links       []*event
	attempts    []attemptRow
	transitions []transitionRow
	jobs        int
}

// link connects an event to an effect that it led to.
type link struct {
	effect     *effect
	suppressed bool // another event had already created the effect
}

// name returns the effect's idempotency key.
func (e *effect) name() string { return e.id.IdempotencyKey() }

// object identifies an object of latest_by or an order of order_by.
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
