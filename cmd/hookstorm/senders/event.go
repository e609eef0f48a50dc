package senders

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

const (
	accounts   = 50 // number of accounts in events
	maxItems   = 20 // maximum number of distinct items in a batch
	maxShared  = 64 // remembered items of earlier batches
	repeatOf   = 5  // one item in this many repeats an item of an earlier batch
	twiceInOne = 50 // one batch in this many contains an item twice
)

// event is the content that a sender signs: one event of Hooklatch, or several in a batch. It
// never changes, except that it is acknowledged once.
type event struct {
	source  *source
	number  int64
	ids     []string
	group   string
	version int64
	header  http.Header // headers without the signature
	body    []byte
	acked   *atomic.Bool // a delivery was acknowledged, so any other one is a duplicate
}

// newEvent creates the event with this number. All its new ids contain the number.
func (s *source) newEvent(number int64, dice *rand.Rand, now time.Time) *event {
	id := fmt.Sprintf("%s_%d_%d", s.Name, s.seed, number)
	e := &event{source: s, number: number, ids: []string{id}, header: http.Header{"Content-Type": {"application/json"}}, acked: new(atomic.Bool)}
	switch s.Shape {
	case scenario.Sample:
		e.ids[0] = sampleID(s.Provider, s.seed, number)
		r := s.provider.Sample("", e.ids[0], now)
		e.header, e.body = r.Header, r.Body
	case scenario.Account:
		item := s.item(id, dice, now)
		e.group, e.version, e.body = item.Account, item.Version, encoded(item)
	case scenario.Batch:
		e.ids, e.body = s.batch(id, dice, now)
	case scenario.Repeat:
		e.header.Set("X-Id", id)
		e.body = fmt.Appendf(nil, `{"said":"%d of %d"}`, s.said.Add(1)/2, s.seed) // two ids share a body
	case scenario.Poison:
		e.header.Set("X-Id", id)
		e.body = poison(dice)
	}
	return e
}

// sampleID returns an id in the provider's format.
func sampleID(provider string, seed, number int64) string {
	switch provider {
	case "stripe":
		return fmt.Sprintf("evt_%d_%d", seed, number)
	case "slack":
		return fmt.Sprintf("Ev%dX%d", seed, number)
	}
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(seed), uint16(seed>>32), number) //nolint:gosec // the bits are a name, not a number
}

// item is a new version of an account: the body of an event, or one item of a batch.
type item struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Account    string    `json:"account"`
	Version    int64     `json:"version"`
	OccurredAt time.Time `json:"occurred_at"`
}

// item returns the next version of a random account. Larger versions have later times, by at
// least a millisecond.
func (s *source) item(id string, dice *rand.Rand, now time.Time) item {
	name := fmt.Sprintf("acc_%d", dice.IntN(accounts))
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[name]
	if a == nil {
		a = &account{}
		s.accounts[name] = a
	}
	a.version++
	a.occurred = a.occurred.Add(time.Millisecond)
	if now := now.UTC().Truncate(time.Microsecond); now.After(a.occurred) {
		a.occurred = now
	}
	types := scenario.AccountTypes()
	return item{ID: id, Type: types[dice.IntN(len(types))], Account: name, Version: a.version, OccurredAt: a.occurred}
}

// batch returns a list of new items, mixed with some items of earlier batches.
func (s *source) batch(id string, dice *rand.Rand, now time.Time) (ids []string, body []byte) {
	var items [][]byte
	for i := range 1 + dice.IntN(maxItems) {
		if known, text := s.former(dice); known != "" && !slices.Contains(ids, known) {
			ids, items = append(ids, known), append(items, text)
			continue
		}
		own := fmt.Sprintf("%s_%d", id, i)
		text := encoded(s.item(own, dice, now))
		ids, items = append(ids, own), append(items, text)
		s.remember(own, text, dice)
	}
	if dice.IntN(twiceInOne) == 0 {
		ids, items = append(ids, ids[0]), append(items, items[0])
	}
	return ids, slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// former occasionally returns an item of an earlier batch, and otherwise nothing.
func (s *source) former(dice *rand.Rand) (id string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shared) == 0 || dice.IntN(repeatOf) > 0 {
		return "", nil
	}
	i := dice.IntN(len(s.shared))
	return s.sharedID[i], s.shared[i]
}

func (s *source) remember(id string, text []byte, dice *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shared) < maxShared {
		s.shared, s.sharedID = append(s.shared, text), append(s.sharedID, id)
		return
	}
	i := dice.IntN(maxShared)
	s.shared[i], s.sharedID[i] = text, id
}

// withOtherBody returns the event with another body of the same meaning. Some providers render the
// body again for each attempt.
func (e *event) withOtherBody(dice *rand.Rand) *event {
	other := *e
	if rest, isObject := strings.CutPrefix(string(e.body), "{"); isObject && e.source.Shape != scenario.Poison {
		other.body = fmt.Appendf(nil, `{"rendered":%d,%s`, dice.IntN(1000), rest)
	} else {
		other.body = slices.Concat(e.body, []byte("\n"))
	}
	return &other
}

// underNewID returns the event as sent by a provider that numbers its deliveries, not its events.
// Hooklatch treats it as another event.
func (e *event) underNewID(number int64) *event {
	other := *e
	other.number, other.ids, other.header, other.acked = number, []string{sampleID(e.source.Provider, e.source.seed, number)}, e.header.Clone(), new(atomic.Bool)
	other.header.Set("X-GitHub-Delivery", other.ids[0])
	return &other
}

func encoded(i item) []byte {
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // never: an item can always be encoded
	}
	return text
}
