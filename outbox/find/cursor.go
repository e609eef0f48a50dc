package find

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cursor is a place to go on from, behind the row or the slice it was told with. It
// stays valid whatever happens to that row. Its text is for URLs and command lines.
type Cursor string

// ErrCursor means that a cursor is of another list, or of none.
var ErrCursor = errors.New("no cursor of a list")

// Beginning is where a walk begins: back from the newest, or onward from the oldest.
const Beginning Cursor = ""

// BeforeEvent is the place before the event of an accept_seq: a walk back begins with
// the one that was accepted just before it.
func BeforeEvent(acceptSeq int64) Cursor { return place{acceptSeq: acceptSeq}.ofEvent() }

// place is where a walk stands: at the accept_seq of an event, or at the time and the
// key of an effect.
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

// ofEffect has the time in microseconds, as the database does.
func (p place) ofEffect() Cursor {
	if p.at.IsZero() {
		return Beginning
	}
	return Cursor(strconv.FormatInt(p.at.UnixMicro(), 10) + "." + p.key)
}

// event reads the place of an event; of none it is beginning.
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

// effect reads the place of an effect; of none it is the zero place.
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

// The places of events.
const (
	newestEvent   = math.MaxInt64 // behind every event that there will be
	firstAccepted = 1             // what is below was imported
	oldestEvent   = math.MinInt64
)
