package session

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The statements of a deadlock. Hooklatch locks rows in key order, and these statements lock
// rows in the opposite order.
var (
	//go:embed statement/lock_last_effects.sql
	lockLastEffectsSQL string
	//go:embed statement/lock_last_events.sql
	lockLastEventsSQL string
	//go:embed statement/lock_all_effects.sql
	lockAllEffectsSQL string
	//go:embed statement/lock_all_events.sql
	lockAllEventsSQL string
	//go:embed statement/waits_for_us.sql
	waitsForUsSQL string
	//go:embed statement/waits_for_each_other.sql
	waitsForEachOtherSQL string
)

// gatherPause gives more of Hooklatch's transactions time to begin waiting for the locked rows. The
// more transactions wait, the more likely one of them already holds a lock on another row. The
// pause is well below the deadlock_timeout of one second, so Postgres aborts the transaction that
// has waited longer, which is Hooklatch's.
const gatherPause = 300 * time.Millisecond

// deadlock locks the latter half of the busy rows and waits until transactions of Hooklatch wait
// for them. Then it locks all unfinished rows, some of which these transactions may hold. When it
// returns, the deadlock is over.
func deadlock(ctx context.Context, _ *rand.Rand, target Target) (Struck, error) {
	// If the waiting transactions held no other row, the fault tries again. At the next try, these
	// transactions may still hold the busy rows. The fault then finds no row to lock and gets
	// ErrNothing. In this case, too, it tries again.
	missed := false
	for deadline := time.Now().Add(2 * waitTimeout); ; time.Sleep(lookPause) {
		struck, err := deadlockOnce(ctx, target)
		switch {
		case errors.Is(err, errNoneMet):
			missed = true
		case missed && errors.Is(err, ErrNothing):
		default:
			return struck, err
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return Struck{}, errors.Join(err, ErrNothing)
		}
	}
}

// errNoneMet is returned if no waiting transaction held another row.
var errNoneMet = errors.New("no waiting transaction held another row")

func deadlockOnce(ctx context.Context, target Target) (Struck, error) {
	tx, heal, err := open(ctx, target, pgx.ReadCommitted)
	if err != nil {
		return Struck{}, err
	}
	struck, err := deadlockIn(ctx, tx, target)
	return struck, errors.Join(err, heal(ctx))
}

func deadlockIn(ctx context.Context, tx pgx.Tx, target Target) (Struck, error) {
	var locked []string
	for _, statement := range []string{lockLastEffectsSQL, lockLastEventsSQL} {
		keys, err := lock(ctx, tx, statement)
		if err != nil {
			return Struck{}, err
		}
		locked = append(locked, keys...)
	}
	if len(locked) == 0 {
		return Struck{}, ErrNothing
	}
	var pid int32
	if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return Struck{}, err
	}
	if err := someoneWaits(ctx, target, pid); err != nil {
		return Struck{}, err
	}
	time.Sleep(gatherPause)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	met := make(chan bool, 1)
	go func() { met <- meets(watching, target, pid) }()
	rows := 0
	for _, statement := range []string{lockAllEffectsSQL, lockAllEventsSQL} {
		keys, err := lock(ctx, tx, statement)
		if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Code == "40P01" {
			return Struck{What: "rows locked in the opposite order to " + locked[0] + ": the server ended Hooklatch's transaction"}, nil
		}
		if err != nil {
			return Struck{}, err
		}
		rows += len(keys)
	}
	stop()
	if !<-met {
		return Struck{}, errNoneMet
	}
	return Struck{What: fmt.Sprintf("%d rows locked in the opposite order, beginning with %s: the server ended ours", rows, locked[0])}, nil
}

// lock runs a statement that locks rows, and returns their keys.
func lock(ctx context.Context, tx pgx.Tx, statement string) ([]string, error) {
	rows, err := tx.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// someoneWaits returns nil once another session waits for the given session, or ErrNothing if none
// does in time.
func someoneWaits(ctx context.Context, target Target, pid int32) error {
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(lookPause) {
		var waiting bool
		if err := target.Pool.QueryRow(ctx, waitsForUsSQL, pid).Scan(&waiting); err != nil {
			return err
		}
		if waiting {
			return nil
		}
	}
	return ErrNothing
}

// meets reports whether the given session and another one wait for each other before ctx is done.
func meets(ctx context.Context, target Target, pid int32) bool {
	for ctx.Err() == nil {
		var found bool
		if err := target.Pool.QueryRow(ctx, waitsForEachOtherSQL, pid).Scan(&found); err == nil && found {
			return true
		}
		time.Sleep(lookPause)
	}
	return false
}
