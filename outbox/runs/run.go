package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// State is the state of a run.
type State string

// The states of a run.
const (
	Running State = "running"
	Paused  State = "paused"
	Stopped State = "stopped" // by an operator, or because it selected more targets than its limit
	Done    State = "done"
	Failed  State = "failed" // it cannot continue
)

// Ended reports whether the run has ended.
func (s State) Ended() bool { return s == Stopped || s == Done || s == Failed }

// ErrNoRun is returned when the run does not exist.
var ErrNoRun = errors.New("no such run")

// Counts is the progress of a run. A selected target that is not counted as Changed, Unfinished or
// Refused had changed its state before its turn.
type Counts struct {
	Selected int64 `json:"selected"`
	Changed  int64 `json:"changed"`
	Reopened int64 `json:"reopened"` // effects reopened by replays of events
	// InDoubt counts effects that may have been applied. Selected includes them if the Order
	// includes them; otherwise they are skipped.
	InDoubt    int64  `json:"in_doubt"`
	Unrendered int64  `json:"unrendered"`           // skipped: nothing to send
	Unclear    int64  `json:"unclear"`              // skipped because the condition failed
	WhyUnclear string `json:"why_unclear,omitzero"` // first error of a condition, or else of a missing body; not stored

	Came
}

// Came contains further results, which only some actions have.
type Came struct {
	// Unfinished counts events that were not erased, because they or some of their effects are
	// unfinished.
	Unfinished int64 `json:"unfinished,omitzero"`
	// Bodiless counts the Unclear events whose body is no longer stored or was erased.
	Bodiless int64 `json:"bodiless,omitzero"`
	// Duplicates counts the Changed deliveries that were accepted without a new event.
	Duplicates int64 `json:"duplicates,omitzero"`
	// Refused counts the deliveries that are still refused, by reason.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// StillRefused returns the number of deliveries that are still refused.
func (c Came) StillRefused() (n int64) {
	for _, of := range c.Refused {
		n += of
	}
	return n
}

// sum adds the results of a batch to the counts.
func sum(c, of Counts) Counts {
	c.Changed += of.Changed
	c.Reopened += of.Reopened
	c.Unfinished += of.Unfinished
	c.Duplicates += of.Duplicates
	if len(of.Refused) > 0 {
		refused := maps.Clone(of.Refused)
		for reason, n := range c.Refused {
			refused[reason] += n
		}
		c.Refused = refused
	}
	return c
}

// Run is a bulk run and its progress.
type Run struct {
	Order
	Counts

	ID        int64
	By        ledger.Operator
	CreatedAt time.Time
	State     State
	Since     time.Time // start of this state
	Error     string    // reason why it failed, was stopped at its limit, or cannot continue now
	Total     int64     // count before the start. 0: not fully counted
	Worked    bool      // a process works on it now
	// Erased lists the events that the last step erased, for progress functions.
	Erased []Erased

	waits time.Duration // time until its next batch, by its pace
	place string        // everything up to this position is done
}

// Erased is an event that a run erased, with the result.
type Erased struct {
	Event identity.EventRef
	erasure.Erased
}

// Moved returns the number of targets that had changed their state before their turn.
func (r Run) Moved() int64 { return r.Selected - r.Changed - r.Unfinished - r.StillRefused() }

// Get reads a run. Errors: ErrNoRun.
func (r *Runs) Get(ctx context.Context, id int64) (Run, error) {
	found, err := r.list(ctx, askedRuns{ID: id, Before: maxID, Limit: 1})
	if err == nil && len(found) == 0 {
		err = ErrNoRun
	}
	if err != nil {
		return Run{}, fmt.Errorf("run %d: %w", id, err)
	}
	return found[0], nil
}

// maxID is above the id of every run.
const maxID = 1<<63 - 1

// List lists up to limit runs, or 50 if limit is 0, newest first. The list starts below the id
// before, or at the newest run if before is 0.
func (r *Runs) List(ctx context.Context, before int64, limit int) ([]Run, error) {
	if before <= 0 {
		before = maxID
	}
	found, err := r.list(ctx, askedRuns{Before: before, Limit: column.Limit(limit)})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return found, nil
}

func (r *Runs) list(ctx context.Context, asked askedRuns) ([]Run, error) {
	rows, err := r.sql.Runs.With(asked).Query(ctx, pipeline.ByIndex{Sender: r.read})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRun)
}

func scanRun(row pgx.CollectableRow) (Run, error) {
	var r Run
	var filter []byte
	var waits float64
	err := row.Scan(&r.ID, &r.Name, &r.Action, &filter, &r.Most, &r.PerSecond,
		&r.By.Who, &r.By.Role, &r.By.Via, &r.By.Reason, &r.By.RequestID, &r.CreatedAt, &r.State, &r.Since, &r.Error, &r.place,
		&r.Selected, &r.Changed, &r.Reopened, &r.InDoubt, &r.Unrendered, &r.Unclear, &r.Total, &r.Came, &r.Worked, &waits)
	r.waits = time.Duration(waits * float64(time.Second))
	if err == nil {
		r.Order, err = r.selecting(filter)
	}
	return r, err
}
