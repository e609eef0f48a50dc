package receivers

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// desk records all calls, and stores which keys were applied with which body. Keys are separate
// for each destination.
type desk struct {
	history *history.Writer

	mu      sync.Mutex
	applied map[keyOf][sha256.Size]byte
	totals  Totals
	closed  bool
	open    sync.WaitGroup // calls that have not ended yet
}

type keyOf struct{ destination, key string }

// Totals count the calls.
type Totals struct {
	Calls   int // calls that arrived completely
	Applied int // applied keys
	Known   int // calls with a key that had already been applied
	Differ  int // calls counted in Known whose body differs from the applied one
}

func newDesk(w *history.Writer) *desk {
	return &desk{history: w, applied: make(map[keyOf][sha256.Size]byte)}
}

// Totals returns the counts so far.
func (r *Receivers) Totals() Totals {
	r.desk.mu.Lock()
	defer r.desk.mu.Unlock()
	return r.desk.totals
}

// call is a request that arrived completely.
type call struct {
	desk      *desk
	operation *history.Operation
	told      history.Call
	body      [sha256.Size]byte
	differs   bool
}

// arrived records the beginning of a call. It returns nil once the receivers are stopped.
func (d *desk) arrived(destination, key string, b Behaviour, body []byte, text string) *call {
	c := &call{desk: d, body: sha256.Sum256(body)}
	c.told = history.Call{Destination: destination, Key: key, Hash: hex.EncodeToString(c.body[:]), Behaviour: string(b)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.open.Add(1)
	d.totals.Calls++
	begun := c.told
	c.operation = d.history.Begin(history.Record{Who: "receiver", Op: history.OpCall, Text: text, Call: &begun})
	first, known := d.applied[keyOf{destination, key}]
	if known {
		c.told.Known, c.differs = true, first != c.body
		d.totals.Known++
		if c.differs {
			d.totals.Differ++
		}
	}
	return c
}

// apply applies the call, unless a call with its key was applied before.
func (c *call) apply() {
	d, key := c.desk, keyOf{c.told.Destination, c.told.Key}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.applied[key]; known {
		c.told.Known = true
		return
	}
	d.applied[key] = c.body
	d.totals.Applied++
	c.told.Applied = true
}

// end records the end of the call. Callers record the end before they respond, so that reactions
// to the response begin after the recorded end.
func (c *call) end(kind history.Kind, status int, text string) {
	if c.differs && text == "" {
		text = "another body was applied under this key"
	}
	told := c.told
	told.Status = status
	c.operation.End(kind, text, func(r *history.Record) { r.Call = &told })
	c.desk.open.Done()
}

// close makes arrived return nil for all further calls.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// wait returns when all calls have ended.
func (d *desk) wait() { d.open.Wait() }
