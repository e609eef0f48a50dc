package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

const (
	// hourly is the period of a destination's counts, and pace is the period of its average rate.
	hourly = time.Hour
	pace   = 5 * time.Minute
)

type destinationPage struct {
	view
	shownDestination

	Lately   measure.Answers
	Strip    strip
	Hour     map[measure.What]int64 // counted in the last hour
	Used     string                 // average rate per second
	Lists    []ledger.EffectState   // states that link to a list of the destination's effects
	Commands []command
}

func (p destinationPage) data() (any, error) { return p.shownDestination.data(), nil }

// Waits returns the number of unfinished effects, or 10000+ if there are more.
func (p destinationPage) Waits() string {
	return doctor.UpTo(min(int64(p.Lately.Waiting), measure.MostWaiting), p.Lately.Waiting > measure.MostWaiting)
}

// FirstFailed returns the first-attempt failure rate of the last hour.
func (p destinationPage) FirstFailed() string {
	first, failed := p.Hour[measure.First], p.Hour[measure.FirstFailed]
	if first == 0 {
		return "no first attempts"
	}
	return fmt.Sprintf("%.1f %% of %d", 100*float64(failed)/float64(first), first)
}

// Took describes the durations of the last hour's attempts: p50 and p99.
func (p destinationPage) Took() string {
	var parts []string
	for _, of := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		within, known := measure.Within(p.Hour, of.share)
		switch {
		case known:
			parts = append(parts, fmt.Sprintf("%s within %s", of.name, within))
		case p.Hour[measure.Attempts] > 0:
			parts = append(parts, fmt.Sprintf("%s above %s", of.name, measure.Longest))
		}
	}
	if parts == nil {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// showDestination shows one destination: its state, the reason why its effects are blocked, and the
// results of its latest attempts.
func showDestination(r *request) error {
	d, err := readDestination(r)
	if err != nil {
		return err
	}
	name := safetext.Shell(d.Name)
	shown := destinationPage{
		view: r.view("destinations", d.Name), shownDestination: d,
		Lists:    []ledger.EffectState{ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed, ledger.EffectDone},
		Commands: []command{{"retry", "Retry failed and parked effects", "hooklatch effects retry --state failed,parked --destination " + name}},
	}
	for _, o := range d.Offers() {
		shown.Commands = append(shown.Commands, command{o.Name, o.Button, "hooklatch destinations " + o.Name + " " + name})
	}
	if shown.Lately, err = r.opts.Measure.Answers(r.Context(), d.Name); err != nil {
		return err
	}
	shown.Strip = stripOf(shown.Lately.Attempts)
	if shown.Hour, err = r.opts.Measure.RecentOf(r.Context(), measure.OfDestination, d.Name, hourly); err != nil {
		return err
	}
	lately, err := r.opts.Measure.RecentOf(r.Context(), measure.OfDestination, d.Name, pace)
	if err != nil {
		return err
	}
	shown.Used = fmt.Sprintf("%.1f/s", float64(lately[measure.Attempts])/pace.Seconds())
	return r.render(http.StatusOK, "destination", shown)
}

// The attempt strip has one bar for each attempted effect, the newest attempt on the right. A bar's
// height has the same meaning as its colour.
const (
	stripBars   = 60
	stripStep   = 8
	stripHeight = 32
)

type strip struct {
	Title    string
	Bars     []bar
	Attempts []measure.LastAttempt // latest attempts of the effects, newest first
}

type bar struct {
	X, Y, Height int
	Class        string
}

// Width returns the width of the strip.
func (s strip) Width() int { return max(len(s.Bars), 1) * stripStep }

func stripOf(attempts []measure.LastAttempt) strip {
	s := strip{Attempts: attempts[:min(len(attempts), stripBars)]}
	heights := map[ledger.EffectState]int{ledger.EffectDone: 10, ledger.EffectStarted: 16, ledger.EffectPending: 22, ledger.EffectInDoubt: 22}
	counted := map[ledger.EffectState]int{}
	for i, a := range s.Attempts {
		height, known := heights[a.State]
		if !known {
			height = stripHeight
		}
		counted[a.State]++
		s.Bars = append(s.Bars, bar{X: (len(s.Attempts) - 1 - i) * stripStep, Y: stripHeight - height, Height: height, Class: pretty.Effect(a.State).Class})
	}
	var parts []string
	for _, of := range ledger.EffectStates() {
		if n := counted[of]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, pretty.Effect(of).Word))
		}
	}
	s.Title = fmt.Sprintf("Current states of the last %d attempted effects: %s. The newest is on the right.", len(s.Attempts), strings.Join(parts, ", "))
	return s
}
