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

// The statements of a deadlock: ours lock rows in the order of their keys, these in
// the opposite one.
var (
	//go:embed statement/lock_last_effect.sql
	lockLastEffectSQL string
	//go:embed statement/lock_other_effects.sql
	lockOtherEffectsSQL string
	//go:embed statement/lock_events.sql
	lockEventsSQL string
	//go:embed statement/waits_for_us.sql
	waitsForUsSQL string
	//go:embed statement/waits_for_each_other.sql
	waitsForEachOtherSQL string
)

// deadlock locks the last of the unfinished effects, waits until a transaction of ours
// waits for it, and locks what that one may have locked before. It is over when it
// returns. Ours has waited longer, so that it is the one the server ends.
func deadlock(ctx context.Context, _ *rand.Rand, target Target) (Struck, error) {
	tx, heal, err := open(ctx, target, pgx.ReadCommitted)
	if err != nil {
		return Struck{}, err
	}
	struck, err := deadlockIn(ctx, tx, target)
	return struck, errors.Join(err, heal(ctx))
}

func deadlockIn(ctx context.Context, tx pgx.Tx, target Target) (Struck, error) {
	var key string
	switch err := tx.QueryRow(ctx, lockLastEffectSQL).Scan(&key); {
	case errors.Is(err, pgx.ErrNoRows):
		return Struck{}, ErrNothing
	case err != nil:
		return Struck{}, err
	}
	var pid int32
	if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return Struck{}, err
	}
	waiting := false
	for deadline := time.Now().Add(waitTimeout); !waiting && time.Now().Before(deadline) && ctx.Err() == nil; {
		// Looked at by another session: this one would see the same snapshot of
		// pg_stat_activity throughout its transaction.
		if err := target.Pool.QueryRow(ctx, waitsForUsSQL, pid).Scan(&waiting); err != nil {
			return Struck{}, err
		}
		if !waiting {
			time.Sleep(lookPause)
		}
	}
	if !waiting {
		return Struck{}, ErrNothing
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	met := make(chan bool, 1)
	go func() { met <- meets(watching, target, pid) }()
	locked := int64(0)
	for _, statement := range []string{lockOtherEffectsSQL, lockEventsSQL} {
		tag, err := tx.Exec(ctx, statement)
		if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Code == "40P01" {
			return Struck{What: "rows locked in the opposite order to " + key + ": the server ended the foreign transaction"}, nil
		}
		if err != nil {
			return Struck{}, err
		}
		locked += tag.RowsAffected()
	}
	stop()
	if !<-met {
		return Struck{}, fmt.Errorf("nobody who waited held another row: %w", ErrNothing)
	}
	return Struck{What: fmt.Sprintf("%d rows locked in the opposite order, beginning with %s: the server ended ours", locked, key)}, nil
}

// meets reports whether a session and another wait for each other before ctx is done.
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
