package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ReplayOptions decide how an event is replayed.
type ReplayOptions struct {
	// NewKeys creates new effects under new keys. Receivers apply such effects again. Without
	// NewKeys the old effects stay: unsuccessful effects are tried again under their old key.
	NewKeys bool
	// Route limits the replay to one route: the effects of other routes stay unchanged. An event
	// whose dispatch failed is then refused. Empty: all matching routes.
	Route string
	// Run is the bulk run that replays the event. 0: an operator named the event.
	Run int64
	// Exported is the event as read from the export. The replay first stores the event again. Nil:
	// there is nothing to store again. Replay sets Exported itself; callers of ReplayTx get it from
	// FromExport.
	Exported *export.Found
}

// Replayed is the result of a replay.
type Replayed struct {
	Generation int // the event's new generation
	Reopened   int // number of effects that are tried again under their old key
}

// Replay dispatches an event again, with the current configuration. A replay is recorded, and
// happens only when an operator requests it (I11). Errors: ErrNotFound, ErrNotReplayable,
// ErrUnavailable, and errors of the export's storage.
func (i *Inbox) Replay(ctx context.Context, ref identity.EventRef, by ledger.Operator, opts ReplayOptions) (Replayed, error) {
	var replayed Replayed
	var err error
	if opts.Exported, err = i.FromExport(ctx, ref); err != nil {
		return Replayed{}, fmt.Errorf("replay event %s: %w", ref, err)
	}
	what := ledger.Instruction{Action: ledger.ActionReplayEvent, Target: ref.String()}
	err = i.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		r, err := i.ReplayTx(ctx, tx, ref, by, opts)
		if err != nil {
			return ledger.Consequence{}, err
		}
		replayed = r
		return ledger.Consequence{Result: fmt.Sprintf("generation %d, %s retried", r.Generation, noun.Counted(r.Reopened, "effect")), Affected: 1}, nil
	})
	if err != nil {
		return Replayed{}, fmt.Errorf("replay event %s: %w", ref, err)
	}
	return replayed, nil
}

// ReplayTx replays an event in the caller's transaction, which records the operator. Errors:
// ErrNotFound and ErrNotReplayable.
func (i *Inbox) ReplayTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator, opts ReplayOptions) (Replayed, error) {
	j := riverjob.DispatchJob{Event: ref}
	var r Replayed
	if opts.Exported != nil {
		if err := i.restoreTx(ctx, tx, opts.Exported); err != nil {
			return r, err
		}
	}
	once := replayEvent{EventRef: ref, NewKeys: opts.NewKeys, Route: opts.Route, RequestedBy: by.Who, Reason: column.Reason(by.Reason), RunID: column.NumberOrNull(opts.Run)}
	err := i.sql.ReplayEvent.With(once).QueryRow(ctx, tx).
		Scan(&j.EventType, &j.Origin, &j.Queue, &j.Traceparent, &r.Generation)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, i.whyNotReplayed(ctx, tx, ref, opts)
	}
	if err != nil {
		return r, err
	}
	if err := i.jobs.InsertDispatches(ctx, tx, []riverjob.DispatchJob{j}); err != nil {
		return r, err
	}
	if !opts.NewKeys {
		r.Reopened, err = i.ledger.ReopenTx(ctx, tx, ref, opts.Route, column.Done("replayed", by.Who, by.Reason))
	}
	return r, err
}

// EventReplay is one replay of an event, with the dispatch that it replaced.
type EventReplay struct {
	Generation int       `json:"generation"` // generation that the replay started
	NewKeys    bool      `json:"new_keys"`
	Route      string    `json:"route,omitzero"` // only route dispatched again. Empty: all
	Run        int64     `json:"run,omitzero"`   // bulk run that replayed the event. 0: an operator named the event
	By         string    `json:"by"`
	Reason     string    `json:"reason,omitzero"`
	At         time.Time `json:"at"`

	// The following fields describe the previous dispatch, which is no longer in Event.
	PreviousOutcome Outcome   `json:"previous_state,omitzero"` // empty if an older version did not record it
	PreviousError   string    `json:"previous_error,omitzero"`
	PreviousAt      time.Time `json:"previous_at,omitzero"`
}

// EventReplays lists the replays of an event, oldest first.
func (i *Inbox) EventReplays(ctx context.Context, ref identity.EventRef) ([]EventReplay, error) {
	rows, err := i.sql.EventReplays.With(ref).Query(ctx, pipeline.ByIndex{Sender: i.readPool})
	if err != nil {
		return nil, fmt.Errorf("list replays of %s: %w", ref, err)
	}
	replays, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EventReplay, error) {
		var r EventReplay
		var previousAt *time.Time
		err := row.Scan(&r.Generation, &r.NewKeys, &r.Route, &r.Run, &r.By, &r.Reason, &r.At, &r.PreviousOutcome, &r.PreviousError, &previousAt)
		r.PreviousAt = column.OrZero(previousAt)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list replays of %s: %w", ref, err)
	}
	return replays, nil
}

func (i *Inbox) whyNotReplayed(ctx context.Context, tx pgx.Tx, ref identity.EventRef, opts ReplayOptions) error {
	e, err := i.event(ctx, tx, ref)
	if err != nil {
		return err
	}
	if gone := e.gone(); gone != "" {
		return fmt.Errorf("%w: %s", ErrNotReplayable, gone)
	}
	switch e.Outcome {
	case Held:
		return fmt.Errorf("%w: a replay guard holds it until it is released or dropped", ErrNotReplayable)
	case Dropped:
		return fmt.Errorf("%w: it was held as a suspected replay and dropped; it can still be released", ErrNotReplayable)
	case Dispatched, Skipped, Failed:
		if e.Outcome == Failed && opts.Route != "" {
			return fmt.Errorf("%w for a single route: its dispatch failed for all routes", ErrNotReplayable)
		}
		if e.Headers == nil {
			return fmt.Errorf("%w: its delivery has expired and was deleted", ErrNotReplayable)
		}
	case Imported:
		return fmt.Errorf("%w: another cell or another system accepted it, and its delivery was never stored here", ErrNotReplayable)
	case Received:
	}
	return fmt.Errorf("%w: it waits for its dispatch", ErrNotReplayable)
}
