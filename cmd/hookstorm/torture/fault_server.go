package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// serverTimeout bounds a restart or a promotion on a busy machine.
const serverTimeout = time.Minute

// serverFaults returns the faults of the whole server, or nil for a run on the caller's server.
func (w *world) serverFaults() []nemesis.Fault {
	switch {
	case !w.opts.DSN.IsZero():
		return nil
	case w.opts.Cluster == Patroni:
		return w.patroniFaults()
	}
	faults := []nemesis.Fault{
		{Kind: "postgres_restarted_fast", Lane: nemesis.Server, Fire: w.restartServer(cluster.Fast)},
		{Kind: "postgres_restarted_immediate", Lane: nemesis.Server, Fire: w.restartServer(cluster.Immediate)},
		{Kind: "postgres_killed", Lane: nemesis.Server, Fire: w.restartServer(cluster.Killed)},
		{Kind: "postgres_frozen", Lane: nemesis.Server, Fire: w.freeze("primary", (*cluster.Cluster).Freeze, (*cluster.Cluster).Thaw)},
	}
	if w.opts.OwnDisks {
		faults = append(faults, nemesis.Fault{Kind: "disk_full", Lane: nemesis.Server, Fire: w.fillDisk})
	}
	if w.opts.NoStandby {
		return faults
	}
	return append(faults,
		nemesis.Fault{Kind: "standby_promoted_after_crash", Lane: nemesis.Server, Fire: w.promote(cluster.Killed, cluster.Immediate)},
		nemesis.Fault{Kind: "standby_promoted_beside_frozen_primary", Lane: nemesis.Server, Fire: w.promote(cluster.Frozen)},
		nemesis.Fault{Kind: "standby_frozen", Lane: nemesis.Server, Fire: w.freeze("standby", (*cluster.Cluster).FreezeStandby, (*cluster.Cluster).ThawStandby)},
	)
}

// withServer completes a fault of the server even if ctx ends: an interrupted promotion would leave
// no server.
func withServer(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverTimeout)
	defer cancel()
	return f(ctx)
}

func (w *world) restartServer(ending cluster.Ending) fire {
	return func(ctx context.Context, _ *rand.Rand, struck func(target, detail string)) error {
		struck("primary", string(ending))
		return withServer(ctx, func(ctx context.Context) error { return w.database.cluster.Restart(ctx, ending) })
	}
}

func (w *world) promote(endings ...cluster.Ending) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		ending := endings[rnd.IntN(len(endings))]
		struck("primary", string(ending))
		return withServer(ctx, func(ctx context.Context) error {
			return errors.Join(w.database.cluster.Promote(ctx, ending), w.nothingIsMissing(ctx))
		})
	}
}

// nothingIsMissing confirms as the operator, after a promotion, that no work was lost. Effects
// with at_most_once wait for this confirmation.
func (w *world) nothingIsMissing(ctx context.Context) error {
	box, err := outbox.New(outbox.Options{Pool: w.primary})
	if err != nil {
		return err
	}
	by := ledger.Operator{Who: "hookstorm", Via: "torture", Reason: "the standby had everything"}
	return errors.Join(box.Repair().Promoted(ctx, by), box.Stop(ctx))
}

// freeze returns a fault that suspends a server for a while. While the standby is suspended, no
// COMMIT gets a response, because each COMMIT waits for the standby.
func (w *world) freeze(target string, freeze, thaw func(*cluster.Cluster) error) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		if err := freeze(w.database.cluster); err != nil {
			return err
		}
		d := time.Second + upTo(rnd, 4*time.Second)
		struck(target, d.Round(time.Millisecond).String())
		sleep(ctx, d)
		return thaw(w.database.cluster)
	}
}

// fillDisk fills the primary's disk. The primary crashes if the WAL runs out of space.
func (w *world) fillDisk(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	written, err := w.database.cluster.FillDisk()
	if err == nil {
		struck("primary", fmt.Sprintf("%d bytes of ballast", written))
		sleep(ctx, time.Second+upTo(rnd, 3*time.Second))
	}
	return errors.Join(err, withServer(ctx, func(ctx context.Context) error {
		_, err := w.database.cluster.FreeDisk(ctx)
		return err
	}))
}
