package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

const (
	// slack is the time between the beginning of a missing period and the time of the restore.
	// Recovery stops at COMMIT times, an event has the time of its BEGIN, and operators round
	// times.
	slack = time.Minute
	// pauseReason marks the pauses that Restored sets and ends.
	pauseReason = "repair --restored-to: what may have been done already is being parked"
)

// ErrNotYet is returned for a restore to a time in the future.
var ErrNotYet = errors.New("the time is in the future")

// Missing is a period in which acknowledged events of a source may be missing: they are neither
// stored nor processed here. Have the sender deliver them again, or backfill them; stored events
// are recognised as duplicates.
type Missing struct {
	Source identity.Source `json:"source"`
	From   time.Time       `json:"from"`
	Until  time.Time       `json:"until"` // time of the query: the old server may have accepted events until then
	// LastBefore and FirstSince are the receipt times of the stored events around the time of the
	// restore, for operators to compare; zero if there is none.
	LastBefore time.Time `json:"last_before,omitzero"`
	FirstSince time.Time `json:"first_since,omitzero"`
}

// AtMostOnce counts the unfinished at_most_once effects of a destination.
type AtMostOnce struct {
	Destination string `json:"destination"`
	Effects     int64  `json:"effects"`
}

// Restore describes the consequences of a restore.
type Restore struct {
	State   State        `json:"server"` // state before the declaration
	To      time.Time    `json:"restored_to"`
	Missing []Missing    `json:"missing"`
	Unsure  []AtMostOnce `json:"unsure"`           // effects to park: they may have been done since To
	Parked  int64        `json:"parked,omitempty"` // number of parked effects, after the declaration

	firstMade time.Time // creation of the first effect in Unsure
}

// PreviewRestore returns the changes that Restored would make, and changes nothing. The parameter
// sources must contain all configured sources, because a source may have no event left in the
// database. Errors: ErrNotYet.
func (r *Repairer) PreviewRestore(ctx context.Context, to time.Time, sources []string) (Restore, error) {
	v := Restore{To: to}
	var err error
	if v.State, err = r.State(ctx); err != nil {
		return Restore{}, err
	}
	if v.Missing, err = r.missing(ctx, to, sources); err != nil {
		return Restore{}, fmt.Errorf("find what may be missing: %w", err)
	}
	if err := r.unsure(ctx, &v); err != nil {
		return Restore{}, fmt.Errorf("count at_most_once effects: %w", err)
	}
	return v, nil
}

// Restored declares that the database was restored to a time. It pauses all destinations, parks
// every unfinished at_most_once effect, and makes the server the known server. It then resumes the
// destinations that it paused, and enqueues work without a job. at_least_once effects that were
// done in the missing time are done again, under their keys. Older events that are not dispatched
// yet may create more at_most_once effects, which are parked when they are claimed. If Restored is
// interrupted, destinations stay paused until a repeated call resumes them. progress may be nil.
// Errors: ErrNotYet, commit.ErrUnavailable.
func (r *Repairer) Restored(ctx context.Context, to time.Time, sources []string, by ledger.Operator, progress func(parked int64)) (Restore, error) {
	by = ordered(by, "the database was restored to "+to.UTC().Format(time.RFC3339Nano))
	v, err := r.PreviewRestore(ctx, to, sources)
	if err != nil {
		return Restore{}, err
	}
	if err := r.pauseAll(ctx, true, by); err != nil {
		return v, fmt.Errorf("pause destinations: %w", err)
	}
	done, err := r.opts.Runs.Through(ctx, runs.Order{
		Action: ledger.ActionParkEffect,
		Effects: find.Effects{
			States: ledger.StatesFor(ledger.ActionParkEffect), Policy: ledger.AtMostOnce, Span: find.Span{Since: v.firstMade},
		},
		EffectTerms: runs.EffectTerms{InDoubt: true, DoubtSince: to},
	}, by, func(at runs.Run) {
		if progress != nil {
			progress(at.Changed)
		}
	})
	v.Parked = done.Changed
	if err != nil {
		return v, fmt.Errorf("park at_most_once effects: %w", err)
	}
	if err := r.adopt(ctx, ActionRestored, v.State, to, by); err != nil {
		return v, fmt.Errorf("confirm this server: %w", err)
	}
	if err := r.pauseAll(ctx, false, by); err != nil {
		return v, fmt.Errorf("resume destinations: %w", err)
	}
	if _, err := r.Enqueue(ctx, by); err != nil {
		return v, err
	}
	return v, nil
}

// pauseAll pauses every destination that no operator has paused. If paused is false, it resumes
// the destinations that it paused, for this call of Restored or for an earlier, interrupted call.
func (r *Repairer) pauseAll(ctx context.Context, paused bool, by ledger.Operator) error {
	destinations, err := r.opts.Fleet.Destinations(ctx)
	if err != nil {
		return err
	}
	by.Reason = pauseReason
	for _, d := range destinations {
		if d.OperatorPaused == paused || !paused && d.PauseReason != pauseReason {
			continue
		}
		if err := r.opts.Fleet.SetPausedFor(ctx, d.Name, paused, by); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the missing periods of all sources.
func (r *Repairer) missing(ctx context.Context, to time.Time, sources []string) ([]Missing, error) {
	var now time.Time
	if err := r.opts.ReadPool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return nil, err
	}
	if to.After(now) {
		return nil, fmt.Errorf("%w: it is %s", ErrNotYet, now.UTC().Format(time.RFC3339))
	}
	rows, err := r.sql.Around.With(around{RestoredTo: to, Sources: sources}).Query(ctx, r.opts.ReadPool)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Missing, error) {
		m := Missing{From: to.Add(-slack)}
		var last, first *time.Time
		err := row.Scan(&m.Source, &last, &first, &m.Until)
		m.LastBefore, m.FirstSince = column.OrZero(last), column.OrZero(first)
		return m, err
	})
}

// unsure counts the effects that may have been done already.
func (r *Repairer) unsure(ctx context.Context, v *Restore) error {
	rows, err := r.sql.AtMostOnce.Query(ctx, r.opts.ReadPool)
	if err != nil {
		return err
	}
	v.Unsure, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (AtMostOnce, error) {
		var a AtMostOnce
		var made time.Time
		err := row.Scan(&a.Destination, &a.Effects, &made)
		if v.firstMade.IsZero() || made.Before(v.firstMade) {
			v.firstMade = made
		}
		return a, err
	})
	return err
}
