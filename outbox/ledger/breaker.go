package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Trip opens the breaker of a destination, which pauses it, and lets the first
// probe through after probeIn. A breaker that is not closed stays as it is: the
// first to trip it decides. Errors: ErrUnknownDestination, ErrUnavailable.
func (l *Ledger) Trip(ctx context.Context, destination, reason string, probeIn time.Duration) error {
	trip := openBreaker{Destination: destination, Reason: column.Reason(reason), ProbeSeconds: probeIn.Seconds()}
	if err := l.changeDestination(ctx, destination, l.sql.TripBreaker.With(trip)); err != nil {
		return fmt.Errorf("trip breaker of %s: %w", destination, err)
	}
	return nil
}

// BeginProbe lets one probe through an open breaker whose time has come, and
// makes it half-open. It reports false when there is none to make: too early,
// somebody else probes, an operator paused it, or the breaker is closed. A probe
// that ends neither with CloseBreaker nor with ProbeFailed within lease is given
// up, and the next may begin. Errors: ErrUnavailable.
func (l *Ledger) BeginProbe(ctx context.Context, destination string, lease time.Duration) (bool, error) {
	var begun bool
	var until time.Time // tells our probe from one of somebody else's
	err := l.db.Do(ctx, "begin_probe", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		probe := beginProbe{Destination: destination, LeaseSeconds: lease.Seconds(), Until: until, Repeated: repeated}
		err := l.sql.BeginProbe.With(probe).QueryRow(ctx, tx).Scan(&until)
		if begun = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("begin probe of %s: %w", destination, err)
	}
	return begun, nil
}

// ProbeFailed opens a half-open breaker again until the next probe, probeIn from
// now. Otherwise it changes nothing. Errors: ErrUnknownDestination,
// ErrUnavailable.
func (l *Ledger) ProbeFailed(ctx context.Context, destination, reason string, probeIn time.Duration) error {
	failed := openBreaker{Destination: destination, Reason: column.Reason(reason), ProbeSeconds: probeIn.Seconds()}
	if err := l.changeDestination(ctx, destination, l.sql.FailProbe.With(failed)); err != nil {
		return fmt.Errorf("record failed probe of %s: %w", destination, err)
	}
	return nil
}

// NoteSuccess records that an attempt at the destination which started so long
// ago was applied. It is for the time before a Trip: a probe of an effect that
// had failed before that success costs one of its attempts. Errors:
// ErrUnavailable.
func (l *Ledger) NoteSuccess(ctx context.Context, destination string, ago time.Duration) error {
	err := l.db.Statement("note_success", func(pool *pgxpool.Pool) error {
		_, err := l.sql.NoteSuccess.With(noteSuccess{Destination: destination, AgoSeconds: ago.Seconds()}).Exec(ctx, pool)
		return err
	})
	if err != nil {
		return fmt.Errorf("note success of %s: %w", destination, err)
	}
	return nil
}

// CloseBreaker lets a destination work again, because a probe succeeded, unless
// an operator paused it.
// Errors: ErrUnknownDestination, ErrUnavailable.
func (l *Ledger) CloseBreaker(ctx context.Context, destination string) error {
	if err := l.changeDestination(ctx, destination, l.sql.CloseBreaker.With(ofDestination{Destination: destination})); err != nil {
		return fmt.Errorf("close breaker of %s: %w", destination, err)
	}
	return nil
}

// OldestDue is the effect that waits longest for its attempt at a destination,
// for a probe to send. It is false when none is due. Errors: ErrUnavailable.
func (l *Ledger) OldestDue(ctx context.Context, destination string) (identity.EffectID, bool, error) {
	var id identity.EffectID
	err := l.db.Statement("oldest_due", func(pool *pgxpool.Pool) error {
		return l.sql.OldestDue.With(ofDestination{Destination: destination}).QueryRow(ctx, pool).Scan(&id.Scope, &id.Key, &id.Generation)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return identity.EffectID{}, false, nil
	}
	if err != nil {
		return identity.EffectID{}, false, fmt.Errorf("find oldest due effect of %s: %w", destination, err)
	}
	return id, true, nil
}
