// Package session disturbs Hooklatch's sessions from other sessions of the database: it locks rows
// and tables, cancels statements, terminates sessions, deletes jobs, and takes all connections.
package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNothing is returned by a fault that found nothing to strike.
var ErrNothing = errors.New("nothing there to strike")

// waitTimeout bounds a fault's wait for its own lock, and its wait for another session.
const waitTimeout = 5 * time.Second

// Needs is the role or the server that a fault requires.
type Needs string

// Values of Needs.
const (
	// Owner is a role that owns Hooklatch's tables. The server may be shared.
	Owner Needs = "owner"
	// WholeServer is a server for the run alone, because the fault affects all its databases.
	WholeServer Needs = "server"
)

// Target is the database that faults strike.
type Target struct {
	// Pool connects to the primary, bypassing the proxy that other faults disturb. Faults never
	// strike the pool's connections.
	Pool *pgxpool.Pool
	// Ours returns the process ids of the backends that serve the run's processes. Defaults to the
	// backends of all sessions of the database, except for the pool's.
	Ours func() []int32
}

// Struck is a fault that has happened.
type Struck struct {
	// What describes the target that the fault struck.
	What string
	// Heal ends the fault. It is never nil, and does nothing if the fault is already over.
	Heal func(ctx context.Context) error
}

// Fault is one kind of fault.
type Fault struct {
	Kind  string
	Needs Needs
	// Simulated is true if the fault only imitates the real one.
	Simulated bool
	// Slow is true if the fault takes seconds, during which the server must stay up.
	Slow bool
	// Strike injects the fault. It returns ErrNothing if it found nothing to strike.
	Strike func(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error)
}

// Faults returns one Fault of each kind.
func Faults() []Fault {
	faults := []Fault{
		{Kind: "lock_held_by_ddl", Needs: Owner, Strike: lockByDDL},
		{Kind: "deadlock_with_application", Needs: Owner, Slow: true, Strike: deadlock},
		{Kind: "backend_cancelled", Needs: Owner, Strike: cancelBackend},
		{Kind: "backend_terminated", Needs: Owner, Strike: terminateBackend},
		{Kind: "vacuum_full", Needs: Owner, Strike: vacuumFull},
		{Kind: "old_snapshot_held", Needs: Owner, Strike: holdSnapshot},
		{Kind: "jobs_deleted", Needs: Owner, Strike: deleteJobs},
		{Kind: "disk_full", Needs: Owner, Simulated: true, Strike: fillDisk},
		{Kind: "slots_taken", Needs: WholeServer, Strike: takeSlots},
	}
	for i, fault := range faults {
		faults[i].Strike = func(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
			struck, err := fault.Strike(ctx, rnd, target)
			if err != nil {
				return Struck{}, fmt.Errorf("%s: %w", fault.Kind, err)
			}
			if struck.Heal == nil {
				struck.Heal = func(context.Context) error { return nil }
			}
			return struck, nil
		}
	}
	return faults
}

// tables returns the tables that faults lock, rewrite and fill.
func tables() []string {
	return []string{
		"hooklatch.processed_events", "hooklatch.effects", "hooklatch.links", "hooklatch.attempts",
		"hooklatch.destinations", "hooklatch.river_job",
	}
}

func pick(rnd *rand.Rand, of []string) string { return of[rnd.IntN(len(of))] }

// open begins a transaction that stays open until the fault heals, and returns the function that
// rolls it back.
func open(ctx context.Context, target Target, level pgx.TxIsoLevel) (pgx.Tx, func(context.Context) error, error) {
	tx, err := target.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	heal := func(ctx context.Context) error {
		_ = tx.Rollback(ctx) // a session that another fault has terminated holds nothing
		return nil
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", waitTimeout.Milliseconds())); err != nil {
		return nil, nil, errors.Join(err, heal(ctx))
	}
	return tx, heal, nil
}

// lockByDDL leaves the transaction of a schema change open, so that no other session can read or
// write the table.
func lockByDDL(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	table := pick(rnd, tables())
	tx, heal, err := open(ctx, target, pgx.ReadCommitted)
	if err != nil {
		return Struck{}, err
	}
	if _, err := tx.Exec(ctx, "ALTER TABLE "+table+" ADD COLUMN hookstorm_locked integer"); err != nil {
		return Struck{}, errors.Join(err, heal(ctx))
	}
	return Struck{What: "ALTER TABLE " + table + " in an open transaction", Heal: heal}, nil
}

// vacuumFull rewrites a table, which other sessions cannot use meanwhile. The fault is over when
// vacuumFull returns.
func vacuumFull(ctx context.Context, rnd *rand.Rand, target Target) (Struck, error) {
	table := pick(rnd, tables())
	conn, err := target.Pool.Acquire(ctx)
	if err != nil {
		return Struck{}, err
	}
	defer conn.Release()
	start := time.Now()
	for _, statement := range []string{
		fmt.Sprintf("SET lock_timeout = %d", waitTimeout.Milliseconds()),
		"VACUUM FULL " + table,
		"RESET lock_timeout",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			_ = conn.Conn().Close(ctx) // the connection has a setting that other users of the pool do not expect
			return Struck{}, err
		}
	}
	return Struck{What: fmt.Sprintf("VACUUM FULL %s took %s", table, time.Since(start).Round(time.Millisecond))}, nil
}

// holdSnapshot keeps dead rows of the whole database from being removed.
func holdSnapshot(ctx context.Context, _ *rand.Rand, target Target) (Struck, error) {
	tx, heal, err := open(ctx, target, pgx.RepeatableRead)
	if err != nil {
		return Struck{}, err
	}
	var snapshot string
	if err := tx.QueryRow(ctx, "SELECT pg_current_snapshot()::text").Scan(&snapshot); err != nil {
		return Struck{}, errors.Join(err, heal(ctx))
	}
	xmin, _, _ := strings.Cut(snapshot, ":")
	return Struck{What: "snapshot held since transaction " + xmin, Heal: heal}, nil
}
