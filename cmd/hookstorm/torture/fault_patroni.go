package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/patroni"
)

// startPatroni starts the run's own servers under Patroni. Half of the processes reach the primary
// through HAProxy, and the others through a URL that lists all servers.
func (w *world) startPatroni(ctx context.Context) error {
	started, err := patroni.Start(ctx, patroni.Options{Dir: filepath.Join(w.Dir, "patroni"), Synchronous: true, History: w.History})
	if err != nil {
		return err
	}
	w.database.patroni = started
	w.OnStop("Patroni", started.Stop)
	return nil
}

// patroniFaults returns the faults of the servers under Patroni.
func (w *world) patroniFaults() []nemesis.Fault {
	return []nemesis.Fault{
		{Kind: "primary_killed", Lane: nemesis.Server, Fire: w.failOver(patroni.Killed)},
		{Kind: "primary_frozen", Lane: nemesis.Server, Fire: w.failOver(patroni.Frozen)},
		{Kind: "primary_without_patroni", Lane: nemesis.Server, Fire: w.failOver(patroni.Orphaned)},
		{Kind: "primary_with_frozen_patroni", Lane: nemesis.Server, Fire: w.failOver(patroni.Deposed)},
		{Kind: "primary_postgres_killed", Lane: nemesis.Server, Fire: w.onPatroni((*patroni.Cluster).CrashPostgres)},
		{Kind: "switchover", Lane: nemesis.Server, Fire: w.onPatroni((*patroni.Cluster).SwitchOver)},
		{Kind: "synchronous_standby_killed", Lane: nemesis.Server, Fire: w.forAWhile(2*time.Second, 6*time.Second, killStandby(true))},
		{Kind: "other_standby_killed", Lane: nemesis.Server, Fire: w.forAWhile(2*time.Second, 6*time.Second, killStandby(false))},
		{Kind: "synchronous_standby_frozen", Lane: nemesis.Server, Fire: w.forAWhile(time.Second, 5*time.Second, freezeStandby(true))},
		{Kind: "other_standby_frozen", Lane: nemesis.Server, Fire: w.forAWhile(time.Second, 5*time.Second, freezeStandby(false))},
		{Kind: "etcd_member_frozen", Lane: nemesis.Server, Fire: w.forAWhile(2*time.Second, 8*time.Second, freezeEtcd(1))},
		{Kind: "etcd_majority_frozen", Lane: nemesis.Server, Fire: w.forAWhile(6*time.Second, 16*time.Second, freezeEtcd(2))},
		{Kind: "waiting_commit_cancelled", Lane: nemesis.Session, Fire: w.cancelWaiting},
	}
}

// patroniTimeout bounds a fault of the servers under Patroni: a failover takes half a minute, and
// the old primary may have to be copied.
const patroniTimeout = 3 * time.Minute

// onPatroni returns a function that injects a fault, which heals even if ctx ends. A failover
// during the fault moves the database to another server, which the run then confirms as an
// operator.
func (w *world) onPatroni(fault func(c *patroni.Cluster, ctx context.Context, struck patroni.Struck) error) fire {
	return func(ctx context.Context, _ *rand.Rand, struck func(target, detail string)) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patroniTimeout)
		defer cancel()
		return errors.Join(fault(w.database.patroni, ctx, struck), untilHealed(ctx, w.nothingIsMissing))
	}
}

func (w *world) failOver(loss patroni.Loss) fire {
	return w.onPatroni(func(c *patroni.Cluster, ctx context.Context, struck patroni.Struck) error {
		return c.FailOver(ctx, loss, struck)
	})
}

// lasting is a fault that heals after the duration away.
type lasting func(c *patroni.Cluster, ctx context.Context, rnd *rand.Rand, away time.Duration, struck patroni.Struck) error

func (w *world) forAWhile(least, most time.Duration, fault lasting) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		away := (least + upTo(rnd, most-least)).Round(time.Millisecond)
		return w.onPatroni(func(c *patroni.Cluster, ctx context.Context, struck patroni.Struck) error {
			return fault(c, ctx, rnd, away, struck)
		})(ctx, rnd, struck)
	}
}

func killStandby(synchronous bool) lasting {
	return func(c *patroni.Cluster, ctx context.Context, _ *rand.Rand, away time.Duration, struck patroni.Struck) error {
		return c.KillStandby(ctx, synchronous, away, struck)
	}
}

func freezeStandby(synchronous bool) lasting {
	return func(c *patroni.Cluster, ctx context.Context, _ *rand.Rand, away time.Duration, struck patroni.Struck) error {
		return c.FreezeStandby(ctx, synchronous, away, struck)
	}
}

func freezeEtcd(count int) lasting {
	return func(c *patroni.Cluster, ctx context.Context, rnd *rand.Rand, away time.Duration, struck patroni.Struck) error {
		return c.FreezeEtcd(ctx, rnd.IntN(3), count, away, struck)
	}
}

// cancelWaiting freezes the synchronous standby for a while and cancels the wait of commits for it.
// The fault may strike during other faults, because all servers keep their roles.
func (w *world) cancelWaiting(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	return w.database.patroni.CancelWaiting(ctx, time.Second+upTo(rnd, 2*time.Second), struck)
}
