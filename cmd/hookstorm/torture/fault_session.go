package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis/session"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
)

// sessionFaults returns the faults caused by other sessions of the database. On the caller's
// server it omits faults that would affect other databases.
func (w *world) sessionFaults() []nemesis.Fault {
	var faults []nemesis.Fault
	for _, fault := range session.Faults() {
		if fault.Needs == session.WholeServer && !w.opts.DSN.IsZero() {
			continue
		}
		if fault.Simulated && w.opts.OwnDisks {
			continue // the real fault is used instead
		}
		lane := nemesis.Session
		if fault.Slow {
			lane = nemesis.Server // the same lane as faults that make the server unavailable
		}
		faults = append(faults, nemesis.Fault{
			Kind: fault.Kind, Lane: lane, Simulated: fault.Simulated,
			Fire: func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
				return w.strike(ctx, fault, rnd, struck)
			},
		})
	}
	return faults
}

// strike injects a fault of another session and ends it after a while. If the fault does not
// strike, for example because the server is unavailable, strike returns nil.
func (w *world) strike(ctx context.Context, fault session.Fault, rnd *rand.Rand, struck func(target, detail string)) error {
	striking, cancel := context.WithTimeout(ctx, strikeTimeout)
	defer cancel()
	done, err := fault.Strike(striking, rnd, session.Target{Pool: w.primary, Ours: w.backends})
	if err != nil {
		if !errors.Is(err, session.ErrNothing) {
			w.Sayf("%s did not strike: %s", fault.Kind, err)
		}
		return nil
	}
	struck("database", done.What)
	sleep(ctx, 500*time.Millisecond+upTo(rnd, 2*time.Second))
	return untilHealed(ctx, done.Heal)
}

// untilHealed calls the function heal until it succeeds, for at most serverTimeout. It retries
// because the server may be unavailable.
func untilHealed(ctx context.Context, heal func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverTimeout)
	defer cancel()
	for {
		trying, stop := context.WithTimeout(ctx, strikeTimeout)
		err := heal(trying)
		stop()
		if err == nil || !sleep(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// strikeTimeout bounds a fault of another session, because the server may be unavailable.
const strikeTimeout = 10 * time.Second

// backends returns the process ids of the server's backends that serve connections through the
// proxy.
func (w *world) backends() []int32 {
	var pids []int32
	for _, connection := range w.proxy.Connections(pgproxy.Who{}) {
		pids = append(pids, int32(connection.BackendPID)) //nolint:gosec // a process id
	}
	return pids
}
