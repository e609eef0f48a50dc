package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Trip opens a destination's breaker, which pauses the destination, and lets the first probe
// through after probeIn. A breaker that is not closed stays unchanged: the first call wins, and only
// it returns true. Errors: ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) Trip(ctx context.Context, destination, reason string, probeIn time.Duration) (opened bool, err error) {
	return f.TripSince(ctx, destination, reason, probeIn, Evidence{})
}

// Evidence describes a process's attempts at a destination. Its durations are counted back from
// now.
type Evidence struct {
	// Failing is the time since the earliest of the failed attempts began. 0: unknown.
	Failing time.Duration
	// Succeeded is the time since the last applied attempt. 0: none. The time of this success is
	// recorded for the destination. A probe with an effect that had failed before the success then
	// counts as one of the effect's attempts.
	Succeeded time.Duration
}

// TripSince is like Trip, but does nothing if the breaker has closed since the failed attempts
// began. Errors: ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) TripSince(ctx context.Context, destination, reason string, probeIn time.Duration, e Evidence) (opened bool, err error) {
	trip := tripBreaker{
		openBreaker:    openBreaker{Destination: destination, Reason: column.Reason(reason), ProbeSeconds: probeIn.Seconds()},
		FailingSeconds: e.Failing.Seconds(), SucceededSeconds: e.Succeeded.Seconds(),
	}
	if opened, err = f.changeDestination(ctx, "trip_breaker", destination, f.sql.TripBreaker.With(trip)); err != nil {
		return false, fmt.Errorf("trip breaker of %s: %w", destination, err)
	}
	return opened, nil
}

// BeginProbe lets one due probe through an open breaker and changes the breaker to half-open. It
// returns false if no probe may start: it is too early, another probe is running, an operator
// paused the destination, or the breaker is closed. A probe that does not end with CloseBreaker or
// ProbeFailed within the duration lease is given up, and the next probe may start. Errors:
// ErrUnavailable.
func (f *Fleet) BeginProbe(ctx context.Context, destination string, lease time.Duration) (bool, error) {
	var begun bool
	var until time.Time // distinguishes this process's probe from another process's
	err := f.db.Do(ctx, "begin_probe", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		probe := beginProbe{Destination: destination, LeaseSeconds: lease.Seconds(), Until: until, Repeated: repeated}
		err := f.sql.BeginProbe.With(probe).QueryRow(ctx, tx).Scan(&until)
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

// ActionProbe is the action of ProbeNow in the operator log.
const ActionProbe ledger.Action = "destination.probe"

// ProbeNow makes the next probe of an open breaker due immediately. A worker starts it at its next
// check, if an effect is due. A breaker that is not open, or whose probe is already due, stays
// unchanged. Errors: ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) ProbeNow(ctx context.Context, destination string, by ledger.Operator) error {
	what := ledger.Instruction{Action: ActionProbe, Target: destination}
	err := f.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		came := ledger.Consequence{Result: "nothing to bring forward"}
		known, err := f.applyPause(ctx, tx, destination, func() error {
			tag, err := f.sql.ProbeNow.With(named{Destination: destination}).Exec(ctx, tx)
			if tag.RowsAffected() > 0 {
				came = ledger.Consequence{Result: "due now", Affected: 1}
			}
			return err
		})
		if err == nil && !known {
			err = fmt.Errorf("%w %q", ledger.ErrUnknownDestination, destination)
		}
		return came, err
	})
	if err != nil {
		return fmt.Errorf("bring forward the probe of %s: %w", destination, err)
	}
	return nil
}

// ProbeFailed reopens a half-open breaker until the next probe, probeIn from now. A breaker in
// another state stays unchanged. Errors: ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) ProbeFailed(ctx context.Context, destination, reason string, probeIn time.Duration) error {
	failed := openBreaker{Destination: destination, Reason: column.Reason(reason), ProbeSeconds: probeIn.Seconds()}
	if _, err := f.changeDestination(ctx, "fail_probe", destination, f.sql.FailProbe.With(failed)); err != nil {
		return fmt.Errorf("record failed probe of %s: %w", destination, err)
	}
	return nil
}

// CloseBreaker ends a destination's breaker pause after a successful probe. An operator's pause
// stays. CloseBreaker returns false if the breaker was closed already. Errors:
// ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) CloseBreaker(ctx context.Context, destination string) (closed bool, err error) {
	if closed, err = f.changeDestination(ctx, "close_breaker", destination, f.sql.CloseBreaker.With(named{Destination: destination})); err != nil {
		return false, fmt.Errorf("close breaker of %s: %w", destination, err)
	}
	return closed, nil
}
