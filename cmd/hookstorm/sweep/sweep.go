package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// Options configure a sweep.
type Options struct {
	// Root is the root of the repository with the programs' sources. Required.
	Root string
	// Dir is a directory for binaries, configurations, logs and the history. If empty, Run uses a
	// temporary directory, and removes it if the report is sound.
	Dir string
	// Seed determines the random choices of the plan, of the traffic and of the receivers.
	Seed int64
	// Short visits each place once, with an action and a passage that the seed draws.
	Short bool
	// Only lists the visits to make, such as settle.begin=kill@2. If nil, the sweep makes all
	// visits of the plan.
	Only []string
	// Patience bounds each leg. Defaults to DefaultPatience.
	Patience time.Duration
	// Out receives progress messages. If nil, they are dropped.
	Out io.Writer
}

// DefaultPatience is enough on two cores, where the last kills happen after a quarter of an hour.
const DefaultPatience = 20 * time.Minute

// Report is the result of a sweep.
type Report struct {
	Visits  []Visit // planned visits
	Fired   map[Visit]int
	Missed  []Visit // planned visits that did not happen
	Verdict checker.Verdict
	History string // path of the history, or empty if it was removed
	Took    time.Duration
}

// Run performs a sweep. It returns an error if the sweep could not be performed. The findings are
// in the report.
func Run(ctx context.Context, opts Options) (_ *Report, err error) {
	began := time.Now()
	if opts.Root == "" {
		return nil, errors.New("sweep options: Root is required")
	}
	opts.Patience = cmp.Or(opts.Patience, DefaultPatience)
	visits, err := choose(Plan(opts.Seed, opts.Short), opts.Only)
	if err != nil {
		return nil, err
	}
	w := &world{opts: opts}
	if w.Stage, err = stage.New(stage.Options{Who: "sweep", Dir: opts.Dir, Out: opts.Out}); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	defer func() { err = errors.Join(err, w.Stop(context.WithoutCancel(ctx))) }()
	w.tally = &tally{itinerary: newItinerary(visits), log: &firedLog{path: filepath.Join(w.Dir, "fired")}, history: w.History}
	if err := w.setUp(ctx); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if err := w.play(ctx); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	verdict, err := w.Judge(ctx, w.pool, checker.Options{MinAcked: minAcked, MinFaults: len(visits), MaxAttempts: maxAttempts})
	if err != nil {
		return nil, err
	}
	itinerary := w.tally.itinerary
	report := &Report{
		Visits: visits, Fired: itinerary.fired, Missed: itinerary.left(all), Verdict: verdict, History: w.HistoryPath(), Took: time.Since(began),
	}
	if report.Sound() {
		w.Forget()
		if opts.Dir == "" {
			report.History = ""
		}
	}
	return report, nil
}

const (
	// minAcked is the minimum number of acknowledged deliveries in a meaningful sweep.
	minAcked = 100
	// maxAttempts is the limit of attempts that the configuration sets for each destination.
	maxAttempts = 100
)

func all(Visit) bool { return true }

// choose returns the visits that Options.Only lists. If that list is nil, choose returns the plan.
func choose(plan []Visit, only []string) ([]Visit, error) {
	if only == nil {
		return plan, nil
	}
	var chosen []Visit
	for _, text := range only {
		v, err := parseVisit(text)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, v)
	}
	return chosen, nil
}

// part is a part of a sweep. After each part all faults end, and the remaining work must finish.
type part struct {
	name  string
	rate  float64 // new events per second
	lanes []*lane
	legs  []leg // legs with the same lanes, one after another
	ends  []leg // legs whose visits happen while a process of each steady lane drains
}

// play performs the parts of the sweep that have visits, and heals after each.
func (w *world) play(ctx context.Context) error {
	w.Phase(history.PhaseStorm)
	for _, p := range []part{
		{"errors and delays", 25, w.steady, []leg{errorsOnly, delays}, nil},
		{"kills", 4, w.dying, []leg{killsAtWork}, []leg{killsAtEnd}}, // a low rate, because each process that dies leaves work to the others
	} {
		if !w.isLeft(p) {
			continue
		}
		began := time.Now()
		storm, calm := context.WithCancel(ctx)
		traffic, err := w.traffic(storm, p.rate)
		if err != nil {
			calm()
			return err
		}
		err = w.playPart(ctx, p)
		calm()
		if err != nil {
			_ = traffic.senders.Stop(storm) // storm is done, so the senders give up
			return fmt.Errorf("%s: %w", p.name, err)
		}
		w.Sayf("%s: %.0f s", p.name, time.Since(began).Seconds())
		began = time.Now()
		if err := w.heal(ctx, traffic); err != nil {
			return fmt.Errorf("after %s: %w", p.name, err)
		}
		w.Sayf("healed after %.0f s, %d deliveries acknowledged", time.Since(began).Seconds(), w.acked())
	}
	return nil
}

func (w *world) isLeft(p part) bool {
	return slices.ContainsFunc(slices.Concat(p.legs, p.ends), func(l leg) bool { return len(w.tally.itinerary.left(l)) > 0 })
}

func (w *world) playPart(ctx context.Context, p part) error {
	for _, leg := range p.legs {
		if err := w.travel(ctx, p.lanes, leg); err != nil {
			return err
		}
	}
	for _, leg := range p.ends {
		for _, l := range w.steady {
			if err := l.drained(ctx, leg); err != nil {
				return err
			}
		}
	}
	return nil
}

// travel lets lanes make the visits of a leg until all are made, or Patience has passed. It does
// not wait for visits that happen only while a process drains.
func (w *world) travel(ctx context.Context, lanes []*lane, leg leg) error {
	travelling, arrived := context.WithTimeout(ctx, w.opts.Patience)
	defer arrived()
	group, running := errgroup.WithContext(travelling)
	for _, l := range lanes {
		group.Go(func() error { return l.run(running, leg) })
	}
	group.Go(func() error {
		defer arrived()
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for told := time.Now(); ; {
			if err := w.tally.update(); err != nil {
				return err
			}
			open := slices.DeleteFunc(w.tally.itinerary.left(leg), func(v Visit) bool { return passedOnce(v.Place) })
			if len(open) == 0 {
				return nil
			}
			if time.Since(told) > tellEvery {
				told = time.Now()
				w.Sayf("%d left: %v ...", len(open), open[:min(len(open), 5)])
			}
			select {
			case <-ticker.C:
			case <-running.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

// tellEvery is the interval of progress messages.
const tellEvery = 10 * time.Second

// Sound reports whether every visit happened and every promise was kept.
func (r *Report) Sound() bool { return len(r.Missed) == 0 && len(r.Verdict.Violations) == 0 }

// maxTold is the maximum number of violations in the text of a report. Report.Verdict contains them
// all.
const maxTold = 20

// Text formats the report.
func (r *Report) Text() string {
	var text strings.Builder
	counts := make(map[string]int)
	for _, v := range r.Visits {
		if r.Fired[v] > 0 {
			counts[v.Action]++
		}
	}
	fmt.Fprintf(&text, "visited %d of %d: %d kills, %d errors, %d delays; %d deliveries acknowledged; %.0f s\n",
		len(r.Visits)-len(r.Missed), len(r.Visits), counts[Kill], counts[Error], counts[Delay], r.Verdict.Totals.Acked, r.Took.Seconds())
	for _, v := range r.Missed {
		fmt.Fprintf(&text, "not visited: %s\n", v)
	}
	for _, v := range r.Verdict.Violations[:min(len(r.Verdict.Violations), maxTold)] {
		fmt.Fprintf(&text, "%s %s: %s\n", v.Rule, v.Key, v.Text)
	}
	if r.History != "" {
		fmt.Fprintf(&text, "the history is in %s\n", r.History)
	}
	fmt.Fprintf(&text, "%d violations\n", len(r.Verdict.Violations))
	return text.String()
}
