package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// BreakerState is the state of a destination's circuit breaker.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // attempts pass
	BreakerOpen     BreakerState = "open"      // no attempts pass
	BreakerHalfOpen BreakerState = "half_open" // a probe is running
)

// DestinationState is the state of a destination across all processes.
type DestinationState struct {
	Name         string    `json:"name"`
	Kind         string    `json:"kind"`
	Queue        string    `json:"queue"`
	SharedQueue  bool      `json:"shared_queue"` // other destinations use the queue too: it is never paused, and claims are refused instead
	RegisteredAt time.Time `json:"registered_at"`

	OperatorPaused bool      `json:"operator_paused"`
	PausedBy       string    `json:"paused_by,omitzero"`
	PauseReason    string    `json:"pause_reason,omitzero"`
	PausedAt       time.Time `json:"paused_at"` // zero unless OperatorPaused

	Breaker       BreakerState `json:"breaker"`
	BreakerReason string       `json:"breaker_reason,omitzero"`
	OpenedAt      time.Time    `json:"opened_at"` // zero while the breaker is closed
	ProbeAt       time.Time    `json:"probe_at"`  // time of the next probe, or deadline of the running probe
	Epoch         int64        `json:"-"`         // counts the changes of pause and breaker

	// OpenFor is the time since OpenedAt, and ProbeIn the time until ProbeAt, by the database's clock.
	OpenFor, ProbeIn time.Duration `json:"-"`

	QueuePaused bool `json:"queue_paused"` // the River queue is paused

	ServedBy int       `json:"served_by"` // number of running processes that have the destination in their configuration
	ServedAt time.Time `json:"served_at"` // time when a process last had the destination; zero: never
}

// Paused reports whether an operator or the breaker has paused the destination.
func (d DestinationState) Paused() bool { return d.OperatorPaused || d.Breaker != BreakerClosed }

// MarshalJSON writes the fields that operators and API clients see. An unset time is null.
func (d DestinationState) MarshalJSON() ([]byte, error) {
	type fields DestinationState // without this method
	return plainjson.Marshal(struct {
		fields

		Paused   bool       `json:"paused"` // by an operator or its breaker
		PausedAt *time.Time `json:"paused_at"`
		OpenedAt *time.Time `json:"opened_at"`
		ProbeAt  *time.Time `json:"probe_at"`
		ServedAt *time.Time `json:"served_at"`
	}{
		fields: fields(d), Paused: d.Paused(), PausedAt: plainjson.OrNull(d.PausedAt), OpenedAt: plainjson.OrNull(d.OpenedAt),
		ProbeAt: plainjson.OrNull(d.ProbeAt), ServedAt: plainjson.OrNull(d.ServedAt),
	})
}

// SetPaused sets or ends an operator's pause. The breaker is independent: attempts start only when
// neither the breaker nor an operator's pause blocks the destination. Errors:
// ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) SetPaused(ctx context.Context, destination string, paused bool, by ledger.Operator) error {
	return f.orderPause(ctx, setPaused{Destination: destination, Paused: paused, Who: by.Who, Reason: column.Reason(by.Reason)}, by)
}

// SetPausedFor is like SetPaused, but for a larger operation, which by.Reason names. It leaves
// other pauses unchanged, and ends only a pause with the same reason.
func (f *Fleet) SetPausedFor(ctx context.Context, destination string, paused bool, by ledger.Operator) error {
	return f.orderPause(ctx, setPaused{Destination: destination, Paused: paused, Who: by.Who, Reason: column.Reason(by.Reason), Own: true}, by)
}

func (f *Fleet) orderPause(ctx context.Context, pause setPaused, by ledger.Operator) error {
	destination, paused := pause.Destination, pause.Paused
	what := ledger.Instruction{Action: ledger.ActionResumeDestination, Target: destination}
	if paused {
		what.Action = ledger.ActionPauseDestination
	}
	err := f.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		came := ledger.Consequence{Result: "no change"}
		known, err := f.applyPause(ctx, tx, destination, func() error {
			tag, err := f.sql.SetPaused.With(pause).Exec(ctx, tx)
			if tag.RowsAffected() > 0 {
				came = ledger.Consequence{Result: "paused", Affected: 1}
				if !paused {
					came.Result = "resumed"
				}
			}
			return err
		})
		if err == nil && !known {
			err = fmt.Errorf("%w %q", ledger.ErrUnknownDestination, destination)
		}
		return came, err
	})
	if err != nil {
		return fmt.Errorf("set pause of %s: %w", destination, err)
	}
	return nil
}

// changeDestination changes a destination's row and applies its new pause to the River queue, in
// one transaction under the row's lock. It reports whether the row was changed. Each change is
// idempotent, so a lost COMMIT response is harmless.
func (f *Fleet) changeDestination(ctx context.Context, name commit.Name, destination string, change statement.Bound) (changed bool, err error) {
	err = f.db.Do(ctx, name, commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		known, err := f.applyPause(ctx, tx, destination, func() error {
			tag, err := change.Exec(ctx, tx)
			changed = tag.RowsAffected() > 0 || repeated && changed // changed by an earlier try
			return err
		})
		if err == nil && !known {
			err = fmt.Errorf("%w %q", ledger.ErrUnknownDestination, destination)
		}
		return err
	})
	return changed, err
}

// applyPause locks the destination, changes it, and then pauses or resumes its queue
// accordingly. It reports whether the destination exists.
func (f *Fleet) applyPause(ctx context.Context, tx pgx.Tx, destination string, change func() error) (bool, error) {
	var locked string
	err := f.sql.LockDestination.With(named{Destination: destination}).QueryRow(ctx, tx).Scan(&locked)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock destination: %w", err)
	}
	if err := change(); err != nil {
		return false, err
	}
	var queue string
	var pause, isPaused bool
	if err := f.sql.PauseOf.With(named{Destination: destination}).QueryRow(ctx, tx).Scan(&queue, &pause, &isPaused); err != nil {
		return false, fmt.Errorf("look up pause: %w", err)
	}
	switch {
	case pause && !isPaused:
		// A queue that no worker serves yet has no row to pause.
		if _, err := f.sql.CreateQueue.With(createQueue{Name: queue}).Exec(ctx, tx); err != nil {
			return false, fmt.Errorf("create queue %s: %w", queue, err)
		}
		err = f.jobs.PauseQueue(ctx, tx, queue)
	case !pause && isPaused:
		err = f.jobs.ResumeQueue(ctx, tx, queue)
	}
	if err != nil {
		return false, fmt.Errorf("apply pause to queue %s: %w", queue, err)
	}
	return true, nil
}

// Destinations lists all registered destinations, by name, for operators.
func (f *Fleet) Destinations(ctx context.Context) ([]DestinationState, error) {
	return f.destinations(ctx, f.read)
}

// DestinationsForWorkers is like Destinations, but for workers: they never wait until an operator's
// read has ended. Errors: ErrUnavailable.
func (f *Fleet) DestinationsForWorkers(ctx context.Context) (all []DestinationState, err error) {
	err = f.db.Statement("destinations", func(db pipeline.ByIndex) error {
		all, err = f.destinations(ctx, db)
		return err
	})
	return all, err
}

func (f *Fleet) destinations(ctx context.Context, db statement.DB) ([]DestinationState, error) {
	rows, err := f.sql.ListDestinations.With(seenWithin{SeenSeconds: PresumedGone.Seconds()}).Query(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("list destinations: %w", err)
	}
	destinations, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DestinationState, error) {
		var d DestinationState
		var pausedAt, openedAt, probeAt, servedAt *time.Time
		var openSeconds, probeSeconds float64
		err := row.Scan(&d.Name, &d.Kind, &d.Queue, &d.SharedQueue, &d.RegisteredAt,
			&d.OperatorPaused, &d.PausedBy, &d.PauseReason, &pausedAt,
			&d.Breaker, &d.BreakerReason, &openedAt, &probeAt, &d.Epoch, &d.QueuePaused,
			&d.ServedBy, &servedAt, &openSeconds, &probeSeconds)
		d.OpenFor, d.ProbeIn = time.Duration(openSeconds*float64(time.Second)), time.Duration(probeSeconds*float64(time.Second))
		d.PausedAt, d.OpenedAt, d.ProbeAt, d.ServedAt = column.OrZero(pausedAt), column.OrZero(openedAt), column.OrZero(probeAt), column.OrZero(servedAt)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("list destinations: %w", err)
	}
	return destinations, nil
}

// unheardAfter is the time after which clients are notified again of a queue's pause state, if a
// client still ignores that state.
const unheardAfter = 10 * time.Second

// SyncPauses applies the destinations' pauses to the River queues; the destinations' rows are
// authoritative. The states may differ: River deletes the row of a queue that no worker has used
// for a day, and operators pause and resume queues in River UI. SyncPauses also makes the clients
// of all processes follow the queues. Otherwise a client that lost its connection when a pause
// ended would never process the queue again. Call it every 10 seconds. Errors: ErrUnavailable.
func (f *Fleet) SyncPauses(ctx context.Context) error {
	// The two steps are independent: a locked destination must not delay the notifications about
	// other queues.
	return errors.Join(f.followDestinations(ctx), f.tellPausesAgain(ctx))
}

// syncPauseTimeout limits the wait for a destination that another transaction has locked. The next
// round tries again.
const syncPauseTimeout = 2 * time.Second

// followDestinations pauses and resumes queues according to their destinations. A locked destination
// does not hold up the others.
func (f *Fleet) followDestinations(ctx context.Context) error {
	var names []string
	err := f.db.Statement("wrong_pauses", func(db pipeline.ByIndex) error {
		rows, err := f.sql.WrongPauses.Query(ctx, db)
		if err == nil {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sync pauses: %w", err)
	}
	var errs []error
	for _, name := range names {
		err := f.db.Do(ctx, "sync_pause", commit.Limits{Recurring: true, Timeout: syncPauseTimeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := f.applyPause(ctx, tx, name, func() error { return nil })
			return err
		})
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("sync pause of %s: %w", name, err))
		if ctx.Err() != nil || !sqlstate.Answered(err) {
			break
		}
	}
	return errors.Join(errs...)
}

// tellPausesAgain notifies the clients of all processes again of the state of each queue whose
// pause or resume a client seems to have missed.
func (f *Fleet) tellPausesAgain(ctx context.Context) error {
	err := f.db.Statement("tell_pauses_again", func(db pipeline.ByIndex) error {
		_, err := f.sql.TellPausesAgain.With(tellPausesAgain{Topic: f.controlTopic, UnheardSeconds: unheardAfter.Seconds()}).Exec(ctx, db)
		return err
	})
	if err != nil {
		return fmt.Errorf("notify of pauses again: %w", err)
	}
	return nil
}
