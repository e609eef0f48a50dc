package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/places"
)

// Visit is one passage of a failpoint at which the sweep kills, fails or delays a process.
type Visit struct {
	Place   string
	Action  string
	Passage int // number of the passage in one process, from 1
}

// The actions of a sweep.
const (
	Kill  = "kill"
	Error = "error"
	Delay = "delay"
)

// delayed is the length of a delay. It exceeds the 250 ms for which a transaction of Hooklatch
// waits for a lock. So other transactions find the lock of the delayed transaction still held.
const delayed = "(400ms)"

// String formats the visit as place=action@passage.
func (v Visit) String() string { return fmt.Sprintf("%s=%s@%d", v.Place, v.Action, v.Passage) }

// rule formats the visit for HOOKLATCH_FAILPOINTS.
func (v Visit) rule() string {
	if v.Action == Delay {
		return fmt.Sprintf("%s=%s%s@%d", v.Place, v.Action, delayed, v.Passage)
	}
	return v.String()
}

// allPlaces returns the failpoints and placeCompleted.
func allPlaces() []string { return append(places.All(), placeCompleted) }

// passedOnce reports whether a process passes the place only once.
func passedOnce(place string) bool { return place == placeGatewayDrains || place == placeWorkerDrains }

const (
	placeGatewayDrains = "gateway.draining"
	placeWorkerDrains  = "worker.draining"
)

// latest is the last passage that may be drawn.
const latest = 6

// seldomPassed reports whether a process passes the place only a few times a minute, or less often.
func seldomPassed(place string) bool {
	transaction, _, _ := strings.Cut(place, ".")
	return ofRetention(place) || slices.Contains([]string{
		"begin_probe", "close_breaker", "fail_probe", "trip_breaker", "move_jobs", "place_destinations", "sync_pause", "reconcile", "make_partitions",
		"follow_promotion", "repair",
	}, transaction)
}

// ofRetention reports whether only a retention run passes the place.
func ofRetention(place string) bool {
	transaction, _, _ := strings.Cut(place, ".")
	return slices.Contains([]string{
		"delete_contents", "delete_copies", "delete_effects", "delete_events", "delete_guards", "delete_imports", "delete_kept_deliveries", "delete_kept_events", "delete_operations",
		"delete_replays", "delete_versions", "detach_day", "drop_day", "erase_exported", "export_day", "keep_deliveries", "note_kept_deliveries", "read_needs", "record_retention",
		"retention", "stop_retention", "thin_day",
	}, transaction)
}

// Plan returns the visits of a sweep: each place at its first, its second and a later passage, with
// each action. A place that a process passes only once is visited only at the first passage. A
// short plan visits each place once. The seed then chooses the action and, at a place that processes
// pass often, the first or second passage.
func Plan(seed int64, short bool) []Visit {
	dice := rand.New(rand.NewPCG(uint64(seed), 0x5eeb)) //nolint:gosec // the numbers must be repeatable, not secret
	var visits []Visit
	for _, place := range allPlaces() {
		var ofPlace []Visit
		for _, action := range []string{Kill, Error, Delay} {
			passages := []int{1, 2, 3 + dice.IntN(latest-2)}
			switch {
			case passedOnce(place), short && seldomPassed(place):
				passages = passages[:1]
			case short:
				passages = passages[:2]
			case seldomPassed(place):
				passages[2] = 3
			}
			for _, passage := range passages {
				ofPlace = append(ofPlace, Visit{Place: place, Action: action, Passage: passage})
			}
		}
		if short {
			drawn := dice.IntN(len(ofPlace))
			ofPlace = ofPlace[drawn : drawn+1]
		}
		visits = append(visits, ofPlace...)
	}
	return visits
}

// itinerary records which visits were made. It is safe for concurrent use.
type itinerary struct {
	mu    sync.Mutex
	open  []Visit // outstanding visits
	fired map[Visit]int
}

func newItinerary(visits []Visit) *itinerary {
	return &itinerary{open: slices.Clone(visits), fired: make(map[Visit]int)}
}

// rules returns the failpoint rules for a process: all outstanding visits of a leg, except those
// that the proxy makes.
func (i *itinerary) rules(leg leg) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var rules []string
	for _, v := range i.open {
		if leg(v) && v.Place != placeCompleted {
			rules = append(rules, v.rule())
		}
	}
	return strings.Join(rules, ",")
}

// left returns the outstanding visits of a leg.
func (i *itinerary) left(leg leg) []Visit {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(i.open), func(v Visit) bool { return !leg(v) })
}

// made records a visit, which processes may make more than once. It reports whether the visit was
// planned.
func (i *itinerary) made(v Visit) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.open, v) && i.fired[v] == 0 {
		return false
	}
	i.fired[v]++
	i.open = slices.DeleteFunc(i.open, func(open Visit) bool { return open == v })
	return true
}

// readingLists reports whether a pass over a list makes the visit.
func readingLists(v Visit) bool {
	transaction, _, _ := strings.Cut(v.Place, ".")
	return slices.Contains([]string{
		"accept_together", "ask_redeliveries", "backfill", "begin_pass", "begin_run", "end_pass", "end_redeliveries", "end_run", "hurry_passes", "note_endpoint", "waiting_redeliveries",
	}, transaction)
}

// movingSources reports whether a move of a source makes the visit.
func movingSources(v Visit) bool {
	transaction, _, _ := strings.Cut(v.Place, ".")
	return strings.HasPrefix(v.Place, "source.move.") ||
		slices.Contains([]string{"abandon_move", "begin_arriving", "begin_move", "end_move", "fence_move", "forget_moved", "put_moved", "put_moved_rest"}, transaction)
}

// The visits of particular lanes.
func keepingHouse(v Visit) bool { return ofRetention(v.Place) }
func takingBack(v Visit) bool   { return strings.HasPrefix(v.Place, "take_back_claim.") }

// leg is a part of the itinerary: visits that are made together.
type leg func(Visit) bool

// The legs of a sweep.
func errorsOnly(v Visit) bool  { return v.Action == Error }
func delays(v Visit) bool      { return v.Action == Delay }
func killsAtWork(v Visit) bool { return v.Action == Kill && !passedOnce(v.Place) }
func killsAtEnd(v Visit) bool  { return v.Action == Kill && passedOnce(v.Place) }

// parseVisit parses the format of String.
func parseVisit(text string) (Visit, error) {
	var v Visit
	place, rest, _ := strings.Cut(text, "=")
	action, passage, _ := strings.Cut(rest, "@")
	v.Place, v.Action = place, action
	n, err := strconv.Atoi(passage)
	v.Passage = n
	if err != nil || n < 1 || !slices.Contains(allPlaces(), place) || !slices.Contains([]string{Kill, Error, Delay}, action) {
		return Visit{}, fmt.Errorf("%q is not a visit: write PLACE=ACTION@PASSAGE, with kill, error or delay, and a passage from 1", text)
	}
	return v, nil
}
