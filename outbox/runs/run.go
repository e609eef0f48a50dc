package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// State is what a run does.
type State string

// The states of a run.
const (
	Running State = "running"
	Paused  State = "paused"
	Stopped State = "stopped" // by a person, or because it selected more than it may
	Done    State = "done"
	Failed  State = "failed" // it cannot go on
)

// Ended tells whether nothing more is done.
func (s State) Ended() bool { return s == Stopped || s == Done || s == Failed }

// ErrNoRun means that there is no such run.
var ErrNoRun = errors.New("no such run")

// Counts are how far a run has come. What was selected and not changed had moved on, unless
// Came says otherwise.
type Counts struct {
	Selected int64 `json:"selected"`
	Changed  int64 `json:"changed"`
	Reopened int64 `json:"reopened"` // effects that replays of events opened again
	// InDoubt may have been applied: among Selected where the order takes them, and left out
	// where not.
	InDoubt    int64  `json:"in_doubt"`
	Unrendered int64  `json:"unrendered"`           // left out: there is nothing to send
	Unclear    int64  `json:"unclear"`              // left out: the condition failed, the first time with WhyUnclear
	WhyUnclear string `json:"why_unclear,omitzero"` // of a preview; it is not kept

	Came
}

// Came is what a run says besides of what it selected, where its action tells.
type Came struct {
	// Unfinished events were not erased: something of them may still be done.
	Unfinished int64 `json:"unfinished,omitzero"`
	// Bodiless are those among Unclear whose body is no longer stored.
	Bodiless int64 `json:"bodiless,omitzero"`
	// Duplicates are those among Changed that were accepted without an event that was new.
	Duplicates int64 `json:"duplicates,omitzero"`
	// Refused deliveries are still refused, by reason.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// StillRefused is how many deliveries are still refused.
func (c Came) StillRefused() (n int64) {
	for _, of := range c.Refused {
		n += of
	}
	return n
}

// sum is what was counted, and what came of a batch besides.
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

// Run is an order about many, and how far it has come.
type Run struct {
	Order
	Counts

	ID        int64
	By        ledger.Operator
	CreatedAt time.Time
	State     State
	Since     time.Time // it is in this state
	Error     string    // why it failed, or stopped by itself
	Total     int64     // what was counted before. 0: nobody counted to the end.
	Worked    bool      // a process is at it now
	// Erased is what the last step erased, where progress is told of it.
	Erased []Erased

	waits time.Duration // until its next batch, by its pace
	place string        // what lies up to there is behind it
}

// Erased is an event that a run erased, and what came of it.
type Erased struct {
	Event identity.EventRef
	erasure.Erased
}

// Moved are those that had moved on when their turn came.
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

// maxID is behind every run.
const maxID = 1<<63 - 1

// List lists runs, the newest first: limit of them before a run, or from the newest on
// when before is 0.
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
