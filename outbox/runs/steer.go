package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The operator actions on a run.
const (
	ActionPause  ledger.Action = "run.pause"
	ActionResume ledger.Action = "run.resume"
	ActionStop   ledger.Action = "run.stop"
	ActionPace   ledger.Action = "run.pace"
)

// StateError is returned when an action on a run is not possible in its state.
type StateError struct {
	Action ledger.Action
	State  State
}

// Error implements error.
func (e *StateError) Error() string {
	switch {
	case e.State.Ended():
		return fmt.Sprintf("the run is %s: it can no longer be changed", e.State)
	case e.Action == ActionPause:
		return "the run is already paused"
	}
	return "the run is already running"
}

// Pause pauses a run after its current batch, until it is resumed. Errors: ErrNoRun,
// *StateError, ErrUnavailable.
func (r *Runs) Pause(ctx context.Context, id int64, by ledger.Operator) error {
	return r.steer(ctx, ActionPause, by, steer{ID: id, From: []State{Running}, To: Paused})
}

// Resume resumes a paused run. Errors: ErrNoRun, *StateError, ErrUnavailable.
func (r *Runs) Resume(ctx context.Context, id int64, by ledger.Operator) error {
	return r.steer(ctx, ActionResume, by, steer{ID: id, From: []State{Paused}, To: Running})
}

// Stop permanently ends a run after its current batch. Completed changes stay. Stop also does the
// remaining work of an erasure; if that fails, the run is stopped all the same. Errors: ErrNoRun,
// *StateError, ErrUnavailable.
func (r *Runs) Stop(ctx context.Context, id int64, by ledger.Operator) error {
	run, err := r.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("%s %d: %w", ActionStop, id, err)
	}
	stop := steer{ID: id, From: []State{Running, Paused}, To: Stopped}
	if stop.Filter, err = run.Concealed(run.By.RequestID).Record(); err != nil {
		return fmt.Errorf("%s %d: %w", ActionStop, id, err)
	}
	if err := r.steer(ctx, ActionStop, by, stop); err != nil {
		return err
	}
	if err := r.finish(ctx, run, nil); err != nil {
		return fmt.Errorf("%s %d: it is stopped; %w", ActionStop, id, err)
	}
	return nil
}

func (r *Runs) steer(ctx context.Context, action ledger.Action, by ledger.Operator, to steer) error {
	return r.act(ctx, action, to.ID, by, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		came, err := r.counted(ctx, tx, action, to.ID, r.sql.Steer.With(to).QueryRow(ctx, tx))
		if err == nil && to.To == Running {
			err = r.opts.Jobs.InsertRuns(ctx, tx, []int64{to.ID})
		}
		return came, err
	})
}

// SetPace limits the changes per second of a run from now on; 0 means no limit. Errors:
// ErrNoRun, *StateError, ErrUnavailable.
func (r *Runs) SetPace(ctx context.Context, id int64, perSecond float64, by ledger.Operator) error {
	if perSecond < 0 {
		return errors.New("the pace must be above 0 a second, or 0 for no limit")
	}
	return r.act(ctx, ActionPace, id, by, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		return r.counted(ctx, tx, ActionPace, id, r.sql.SetPace.With(setPace{ID: id, PerSecond: perSecond}).QueryRow(ctx, tx))
	})
}

func (r *Runs) act(ctx context.Context, action ledger.Action, id int64, by ledger.Operator, do func(context.Context, pgx.Tx) (ledger.Consequence, error)) error {
	what := ledger.Instruction{Action: action, Target: fmt.Sprintf("run %d", id), Run: id}
	if err := r.opts.Ledger.Act(ctx, by, what, do); err != nil {
		return fmt.Errorf("%s %d: %w", action, id, err)
	}
	return nil
}

// counted returns the run's progress at the time of the action, or an error that explains why the
// action was not possible.
func (r *Runs) counted(ctx context.Context, tx pgx.Tx, action ledger.Action, id int64, row pgx.Row) (ledger.Consequence, error) {
	var selected, changed int64
	err := row.Scan(&selected, &changed)
	if err == nil {
		return ledger.Consequence{Result: fmt.Sprintf("after %d selected, %d changed", selected, changed)}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return ledger.Consequence{}, err
	}
	var state State
	if err := r.sql.StateOfRun.With(ofRun{ID: id}).QueryRow(ctx, tx).Scan(&state); errors.Is(err, pgx.ErrNoRows) {
		return ledger.Consequence{}, ErrNoRun
	} else if err != nil {
		return ledger.Consequence{}, err
	}
	return ledger.Consequence{}, &StateError{action, state}
}
