package find

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cursor is the position after a row or a page, from which a list continues. It stays valid even if
// that row changes or is deleted. It can be used in URLs and on command lines.
type Cursor string

// ErrCursor is returned when a cursor belongs to another list, or is invalid.
var ErrCursor = errors.New("not a cursor of a list")

// Beginning is the start of a walk: the newest row for a walk back, the oldest row for a walk
// onward.
const Beginning Cursor = ""

// BeforeEvent returns the position before the event with the given accept_seq. A walk back from
// that position begins with the event accepted just before it.
func BeforeEvent(acceptSeq int64) Cursor { return place{acceptSeq: acceptSeq}.ofEvent() }

// place is the position of a walk: an event's accept_seq, an effect's time and key, or an action's
// time and id.
type place struct {
	acceptSeq int64
	at        time.Time // time when the event was received, or the effect or action was created
	key       string
}

func (p place) ofEvent() Cursor {
	if p.acceptSeq == newestEvent || p.acceptSeq == oldestEvent {
		return Beginning
	}
	return Cursor(strconv.FormatInt(p.acceptSeq, 10))
}

// ofEffect writes the time in microseconds, the database's resolution.
func (p place) ofEffect() Cursor {
	if p.at.IsZero() {
		return Beginning
	}
	return Cursor(strconv.FormatInt(p.at.UnixMicro(), 10) + "." + p.key)
}

// event parses an event's position. The empty cursor means the accept_seq in the parameter
// beginning.
func (c Cursor) event(beginning int64) (place, error) {
	if c == "" {
		return place{acceptSeq: beginning}, nil
	}
	seq, err := strconv.ParseInt(string(c), 10, 64)
	if err != nil {
		return place{}, fmt.Errorf("%q is %w of events", string(c), ErrCursor)
	}
	return place{acceptSeq: seq}, nil
}

// effect parses an effect's position. For the empty cursor, it returns the zero place.
func (c Cursor) effect() (place, error) {
	if c == "" {
		return place{}, nil
	}
	text, key, found := strings.Cut(string(c), ".")
	micros, err := strconv.ParseInt(text, 10, 64)
	if !found || err != nil {
		return place{}, fmt.Errorf("%q is %w of effects", string(c), ErrCursor)
	}
	return place{at: time.UnixMicro(micros).UTC(), key: key}, nil
}

// Event positions that have a special meaning.
const (
	newestEvent   = math.MaxInt64 // after every event that can exist
	firstAccepted = 1             // lower positions belong to imported events
	oldestEvent   = math.MinInt64
)
