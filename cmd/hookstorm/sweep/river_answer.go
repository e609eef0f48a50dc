package sweep

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

// placeCompleted is the only place without a failpoint in the code: Postgres has completed jobs,
// and River has not received the response yet. There the proxy disturbs the connection to Postgres.
const placeCompleted = "river.completed"

// completion matches River's statement that completes jobs.
var completion = regexp.MustCompile(`\bJobSetStateIfRunningMany\b`)

// riverLine is the connection of one lane's processes to Postgres, through a proxy.
type riverLine struct {
	proxy   *pgproxy.Proxy
	url     string // URL through the proxy
	program *programs.Program
	tally   *tally
}

// arm prepares the proxy for a leg's visits, before a process starts. Every completion is one
// passage. The proxy lets the completions between the visits through.
func (l *riverLine) arm(leg leg) error {
	l.proxy.DisarmAll()
	visits := slices.DeleteFunc(l.tally.itinerary.left(leg), func(v Visit) bool { return v.Place != placeCompleted })
	slices.SortFunc(visits, func(a, b Visit) int { return cmp.Compare(a.Passage, b.Passage) })
	passed := 0
	for _, v := range visits {
		if between := v.Passage - passed - 1; between > 0 {
			through := pgproxy.Fault{Kind: pgproxy.DelayAnswer, Match: completion, Count: between, Delay: time.Millisecond}
			if _, err := l.proxy.Arm(through); err != nil {
				return err
			}
		}
		if _, err := l.proxy.Arm(l.fault(v)); err != nil {
			return err
		}
		passed = v.Passage
	}
	return nil
}

// fault returns the proxy's fault that makes the visit.
func (l *riverLine) fault(v Visit) pgproxy.Fault {
	f := pgproxy.Fault{Match: completion, Count: 1, OnFiring: func(pgproxy.Firing) { l.tally.made(v) }}
	switch v.Action {
	case Kill:
		f.Kind = pgproxy.HangAnswer
		f.OnFiring = func(pgproxy.Firing) {
			l.tally.made(v)
			go l.program.Kill() //nolint:errcheck // the lane notices whether the process exited
		}
	case Error:
		f.Kind = pgproxy.LoseAnswer
	case Delay:
		f.Kind, f.Delay = pgproxy.DelayAnswer, 400*time.Millisecond
	}
	return f
}
