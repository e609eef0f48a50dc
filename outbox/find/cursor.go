package find

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cursor is a place to continue from, behind a row or a page. It stays valid whatever happens
// to that row. It is a text for URLs and command lines.
type Cursor string

// ErrCursor is returned when a cursor belongs to another list, or is invalid.
var ErrCursor = errors.New("no cursor of a list")

// Beginning is where a walk begins: the newest row on the way back, the oldest on the way
// onward.
const Beginning Cursor = ""

// BeforeEvent returns the place before the event with an accept_seq. A walk back from there
// begins with the event accepted just before it.
func BeforeEvent(acceptSeq int64) Cursor { return place{acceptSeq: acceptSeq}.ofEvent() }

// place is the position of a walk: the accept_seq of an event, or the time and key of an
// effect.
type place struct {
	acceptSeq int64
	at        time.Time // when the event was received, or the effect made
	key       string
}

func (p place) ofEvent() Cursor {
	if p.acceptSeq == newestEvent || p.acceptSeq == oldestEvent {
		return Beginning
	}
	return Cursor(strconv.FormatInt(p.acceptSeq, 10))
}

// ofEffect writes the time in microseconds, the resolution of the database.
func (p place) ofEffect() Cursor {
	if p.at.IsZero() {
		return Beginning
	}
	return Cursor(strconv.FormatInt(p.at.UnixMicro(), 10) + "." + p.key)
}

// event parses the place of an event. The empty cursor is beginning.
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

// effect parses the place of an effect. The empty cursor is the zero place.
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

// Places of events with a meaning.
const (
	newestEvent   = math.MaxInt64 // behind every event that may ever exist
	firstAccepted = 1             // places below are imported
	oldestEvent   = math.MinInt64
)
