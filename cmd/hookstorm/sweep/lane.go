package sweep

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

const (
	// killed is the exit status of a process that a failpoint killed.
	killed = "signal: killed"
	// maxOddEnds is the number of a lane's processes that may exit although no failpoint killed
	// them. At some failpoints an error makes a process exit.
	maxOddEnds = 10
	// stopsWithin bounds a stop, including all delays.
	stopsWithin = 30 * time.Second
)

// lane is a program whose processes make a leg's visits, one process at a time. Each process gets
// all outstanding visits. The process dies at the first failpoint with a kill. It survives all
// delays, and most errors.
type lane struct {
	program *programs.Program
	always  string     // rules for all the lane's processes, in addition to the leg's rules
	line    *riverLine // nil if the lane has none
	only    leg        // the lane's visits: if none is left, no process runs; nil for all visits
	tally   *tally
}

// run starts processes until ctx is done or the lane is no longer needed, and then stops the last
// process. It returns an error if more than maxOddEnds processes exited although no failpoint
// killed them.
func (l *lane) run(ctx context.Context, leg leg) error {
	odd := 0
	for ctx.Err() == nil && l.isNeeded(leg) {
		if err := l.start(ctx, leg); err != nil {
			return err
		}
		l.wait(ctx, leg)
		if err := l.tally.update(); err != nil {
			return err
		}
		if how, ordered := l.program.Ended(); how != "" && how != killed && !ordered {
			if odd++; odd > maxOddEnds {
				return fmt.Errorf("%s kept ending although no failpoint killed it: %s\n%s", l.program.Name(), how, l.program.LastLines())
			}
		}
	}
	if l.line != nil {
		l.line.proxy.DisarmAll()
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopsWithin)
	defer cancel()
	if err := l.program.Stop(stopping); err != nil {
		return err
	}
	return l.tally.update()
}

// wait returns when the process has exited, when it is no longer needed, or when ctx is done.
func (l *lane) wait(ctx context.Context, leg leg) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for l.isNeeded(leg) {
		select {
		case <-ctx.Done():
			return
		case <-l.program.Exited():
			return
		case <-ticker.C:
		}
	}
}

// isNeeded reports whether the leg has an outstanding visit that the lane may make. If l.only is
// nil, the lane is always needed.
func (l *lane) isNeeded(leg leg) bool {
	return l.only == nil || len(l.tally.itinerary.left(func(v Visit) bool { return leg(v) && l.only(v) })) > 0
}

func (l *lane) start(ctx context.Context, leg leg) error {
	rules := make([]string, 0, 2)
	if own := l.tally.itinerary.rules(leg); own != "" {
		rules = append(rules, own)
	}
	if l.always != "" {
		rules = append(rules, l.always) // last: of several rules for one passage, the first applies
	}
	if l.line != nil {
		if err := l.line.arm(leg); err != nil {
			return err
		}
	}
	err := l.program.Start(ctx, "HOOKLATCH_FAILPOINTS="+strings.Join(rules, ","), "HOOKLATCH_FAILPOINT_FIRED="+l.tally.log.path)
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the process was stopped before it began
	}
	return err
}

// drained starts a process for visits that happen while it drains, and stops it.
func (l *lane) drained(ctx context.Context, leg leg) error {
	ctx, cancel := context.WithTimeout(ctx, stopsWithin)
	defer cancel()
	if err := l.start(ctx, leg); err != nil {
		return err
	}
	if err := l.program.Ready(ctx); err != nil {
		return err
	}
	if err := l.program.Stop(ctx); err != nil {
		return err
	}
	return l.tally.update()
}
