package coverage

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Mode decides how a pass handles missing events.
type Mode string

// The values of Mode.
const (
	ModeAuto    Mode = "auto"    // fetches missing events, or requests redeliveries
	ModeReport  Mode = "report"  // only reports missing events
	ModeOrdered Mode = "ordered" // like ModeAuto, requested by an operator
)

// Counts are the numbers of a pass's requests, and of its events by outcome.
type Counts struct {
	Requests  int64 `json:"requests"`
	Listed    int64 `json:"listed"`    // events within the requested time
	Known     int64 `json:"known"`     // stored before
	Missing   int64 `json:"missing"`   // not stored when the pass looked
	Recovered int64 `json:"recovered"` // stored by the pass, or by a redelivery
	Asked     int64 `json:"asked"`     // redeliveries requested
	Lost      int64 `json:"lost"`      // given up after all tries
	Filtered  int64 `json:"filtered"`  // of a type that the pass does not look for, or an unwanted test event
	Invalid   int64 `json:"invalid"`   // cannot be converted to an event
	Altered   int64 `json:"altered"`   // differs from the webhook's content
	Unlisted  int64 `json:"unlisted"`  // delivered by a webhook, but not in the list
}

// Found reports whether the pass found missing or invalid events.
func (c Counts) Found() bool { return c.Missing+c.Recovered+c.Lost+c.Invalid > 0 }

// Run is the record of one pass.
type Run struct {
	Stream
	Counts

	ID            int64            `json:"run_id"`
	Mode          Mode             `json:"mode"`
	Since         time.Time        `json:"since"`
	Until         time.Time        `json:"until"`
	RequestedBy   string           `json:"requested_by,omitzero"`
	StartedAt     time.Time        `json:"started_at"`
	EndedAt       time.Time        `json:"ended_at,omitzero"` // zero: the pass is running, or its process was lost
	Oldest        time.Time        `json:"oldest,omitzero"`   // time of the oldest missing event
	Newest        time.Time        `json:"newest,omitzero"`
	UnlistedEvent identity.EventID `json:"unlisted_event,omitzero"` // one of the Unlisted events
	Error         string           `json:"error,omitzero"`
}

// Outcome describes the pass's result. An error does not hide what the pass found before.
func (r *Run) Outcome() string {
	if r.Error == "" && r.EndedAt.IsZero() {
		return "has not ended: it is still running, or its process was lost"
	}
	var parts []string
	switch {
	case r.Lost > 0:
		parts = append(parts, "events are lost")
	case r.Missing > r.Recovered+r.Asked:
		parts = append(parts, "events are missing")
	case r.Unlisted > 0:
		parts = append(parts, fmt.Sprintf("stored events that are not in the list: %d, such as %s", r.Unlisted, r.UnlistedEvent))
	}
	if r.Error != "" {
		parts = append(parts, r.Error)
	}
	return cmp.Or(strings.Join(parts, "; "), "complete")
}

type beginRun struct {
	Source      identity.Source
	Name        string
	Since       time.Time
	Until       time.Time
	Mode        Mode
	RequestedBy string
	Tried       int64 // run of an earlier try whose COMMIT response was lost
}

// BeginRun records that a pass has begun, and sets r.ID and r.StartedAt. It also ends the
// unfinished runs of the last seven days that belong to earlier passes over the list: those passes
// can no longer write.
func (c *Coverage) BeginRun(ctx context.Context, r *Run) error {
	err := c.opts.DB.Do(ctx, "begin_run", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		return c.sql.BeginRun.With(beginRun{
			Source: r.Source, Name: r.Name, Since: r.Since, Until: r.Until, Mode: r.Mode, RequestedBy: r.RequestedBy, Tried: r.ID,
		}).QueryRow(ctx, tx).Scan(&r.ID, &r.StartedAt)
	})
	if err != nil {
		return fmt.Errorf("begin run: %w", err)
	}
	return nil
}

type noteRun struct {
	Counts

	RunID         int64
	Oldest        *time.Time
	Newest        *time.Time
	UnlistedEvent identity.EventID
	Ended         bool
	Error         string
}

// NoteRunTx records the pass's counts so far, in the transaction that stores its events. If ended
// is true, it also records the pass's error and end.
func (c *Coverage) NoteRunTx(ctx context.Context, tx pgx.Tx, r *Run, ended bool) error {
	_, err := c.sql.NoteRun.With(noteRun{
		Counts: r.Counts, RunID: r.ID, Oldest: column.KnownTime(r.Oldest), Newest: column.KnownTime(r.Newest), UnlistedEvent: r.UnlistedEvent, Ended: ended, Error: r.Error,
	}).Exec(ctx, tx)
	if err != nil {
		return fmt.Errorf("note run: %w", err)
	}
	return nil
}

// EndRun records that a pass has ended.
func (c *Coverage) EndRun(ctx context.Context, r *Run) error {
	err := c.opts.DB.Do(ctx, "end_run", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		return c.NoteRunTx(ctx, tx, r, true)
	})
	if err != nil {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

type listRuns struct {
	Source identity.Source
	Most   int
}

// Runs returns the last passes over a source's lists, newest first.
func (c *Coverage) Runs(ctx context.Context, source identity.Source, most int) ([]Run, error) {
	rows, err := c.sql.Runs.With(listRuns{Source: source, Most: most}).Query(ctx, c.opts.ReadPool)
	if err != nil {
		return nil, fmt.Errorf("list passes: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Run, error) {
		r := Run{}
		var ended, oldest, newest *time.Time
		err := row.Scan(
			&r.ID, &r.Source, &r.Name, &r.Since, &r.Until, &r.Mode, &r.RequestedBy, &r.StartedAt, &ended, &r.Requests, &r.Listed, &r.Known,
			&r.Missing, &r.Recovered, &r.Asked, &r.Lost, &r.Filtered, &r.Invalid, &r.Altered, &r.Unlisted, &r.UnlistedEvent, &oldest, &newest, &r.Error,
		)
		r.EndedAt, r.Oldest, r.Newest = column.OrZero(ended), column.OrZero(oldest), column.OrZero(newest)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list passes: %w", err)
	}
	return runs, nil
}

// State is the coverage of one list, with the results of its latest passes.
type State struct {
	Stream

	Now          time.Time     `json:"-"`
	CreatedAt    time.Time     `json:"created_at"`
	CoveredUntil time.Time     `json:"covered_until"`
	LastOKAt     time.Time     `json:"last_ok_at,omitzero"` // zero: never
	NextAt       time.Time     `json:"next_at"`
	Failures     int           `json:"failures"` // consecutive failures
	Error        string        `json:"error,omitzero"`
	Endpoint     EndpointState `json:"endpoint,omitzero"`
	EndpointWhy  string        `json:"endpoint_why,omitzero"`
	EndpointAt   time.Time     `json:"endpoint_since,omitzero"`
	Waiting      int64         `json:"redeliveries_waiting"`
	// Unlisted counts the events that a webhook delivered and that the list did not contain, in
	// the passes of the last two days. UnlistedEvent is one of them.
	Unlisted      int64            `json:"unlisted"`
	UnlistedEvent identity.EventID `json:"unlisted_event,omitzero"`
}

// States returns the states of all lists, ordered by source and account.
func (c *Coverage) States(ctx context.Context) ([]State, error) {
	rows, err := c.sql.States.Query(ctx, c.opts.ReadPool)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (State, error) {
		s := State{}
		var lastOK, endpointAt *time.Time
		err := row.Scan(
			&s.Source, &s.Name, &s.Now, &s.CreatedAt, &s.CoveredUntil, &lastOK, &s.NextAt, &s.Failures, &s.Error, &s.Endpoint, &s.EndpointWhy, &endpointAt,
			&s.Waiting, &s.Unlisted, &s.UnlistedEvent,
		)
		s.LastOKAt, s.EndpointAt = column.OrZero(lastOK), column.OrZero(endpointAt)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	return states, nil
}
