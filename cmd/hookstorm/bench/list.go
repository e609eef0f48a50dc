package bench

import (
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
)

// listPage is the number of events on a page of the list, as in most providers' lists.
const listPage = 100

// list is the API of a sender whose webhooks delivered nothing. It has n events, evenly spread
// over a period, and creates each of them on request.
type list struct {
	n     int
	first time.Time
	step  time.Duration // time between two events
	body  func(to []byte, id string) []byte
}

// newList returns a list of n events between since and until.
func newList(n int, since, until time.Time) *list {
	return &list{n: n, first: since, step: until.Sub(since) / time.Duration(n), body: load.Unsigned()}
}

// ServeHTTP writes a page of the events in [since, until), oldest first. A cursor is the
// index of an event.
func (l *list) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	since, errSince := strconv.ParseInt(r.FormValue("since"), 10, 64)
	until, errUntil := strconv.ParseInt(r.FormValue("until"), 10, 64)
	if errors.Join(errSince, errUntil) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i, end := l.index(since), l.index(until)
	if cursor, err := strconv.Atoi(r.FormValue("cursor")); err == nil {
		i = cursor
	}
	page := append(make([]byte, 0, listPage*(load.DefaultSize+64)), `{"data":[`...)
	for shown := 0; i < end && shown < listPage; i, shown = i+1, shown+1 {
		if shown > 0 {
			page = append(page, ',')
		}
		page = append(strconv.AppendInt(append(page, `{"created":`...), l.at(i).UnixMilli(), 10), `,"body":`...)
		page = append(l.body(page, idAt(i)), '}')
	}
	page = append(page, ']')
	if i < end {
		page = append(strconv.AppendInt(append(page, `,"next":"`...), int64(i), 10), '"')
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(page, '}')) // fails if the client has closed the connection
}

// at returns the time of the i-th event.
func (l *list) at(i int) time.Time { return l.first.Add(time.Duration(i) * l.step) }

// index returns the index of the first event at or after the given second since 1970, or l.n if
// there is none.
func (l *list) index(second int64) int {
	after := time.Unix(second, 0).Sub(l.first)
	return min(max(int((after+l.step-1)/l.step), 0), l.n)
}

// idAt returns the id of the i-th event. Like the ids of live events, it is at a random position
// in an index.
func idAt(i int) string { return fmt.Sprintf("evt_%016x%08x", bits.Reverse64(uint64(i)), i) } //nolint:gosec // an index
