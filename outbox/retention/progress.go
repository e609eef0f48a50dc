package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Progress is the progress of retention for one kind of rows.
type Progress struct {
	What    What
	Source  identity.Source
	Horizon time.Time // older rows have been deleted, except rows that unfinished work needs
	RanAt   time.Time
	Oldest  time.Time // time of the oldest row that the last run left; zero: no rows
	// DayRows and DayBytes count what was deleted on Day. PreviousRows counts the rows deleted on
	// the last day before Day on which retention ran.
	Day          time.Time
	DayRows      int64
	DayBytes     int64
	PreviousRows int64
	// StoppedSince is the time since which retention has been waiting for an operator, because it
	// would have deleted everything up to StoppedAt. Zero: it does not wait.
	StoppedSince time.Time
	StoppedAt    time.Time

	acceptSeq int64
	approved  time.Time
}

// Progress returns the progress of retention for each kind of rows.
func (k *Keeper) Progress(ctx context.Context) ([]Progress, error) {
	var all []Progress
	err := k.db.Statement("retention_progress", func(db pipeline.ByIndex) error {
		rows, err := k.sql.Progress.Query(ctx, db)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Progress, error) {
			var p Progress
			var oldest, day, approved, since, at *time.Time
			err := row.Scan(&p.What, &p.Source, &p.Horizon, &p.RanAt, &oldest, &day, &p.DayRows, &p.DayBytes, &p.PreviousRows,
				&since, &at, &p.acceptSeq, &approved)
			p.Oldest, p.Day, p.approved = column.OrZero(oldest), column.OrZero(day), column.OrZero(approved)
			p.StoppedSince, p.StoppedAt = column.OrZero(since), column.OrZero(at)
			return p, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read progress of retention: %w", err)
	}
	return all, nil
}

// load sets the progress of each task. A kind that is new to retention starts with its oldest row.
// A new source starts with the last run for the other sources, because it has no older rows.
func (r *run) load(ctx context.Context) error {
	all, err := r.Progress(ctx)
	if err != nil {
		return err
	}
	latest := map[What]time.Time{}
	for _, p := range all {
		if p.RanAt.After(latest[p.What]) {
			latest[p.What] = p.RanAt
		}
	}
	for _, t := range r.tasks {
		for _, p := range all {
			// A horizon in the future was recorded under a wrong clock.
			if p.What == t.what && p.Source == t.source && !p.Horizon.After(r.now) {
				t.known, t.horizon, t.approved, t.acceptSeq = true, p.Horizon, p.approved, p.acceptSeq
			}
		}
		if t.what == Imports && t.acceptSeq == 0 { // never walked before
			t.acceptSeq = beginning
		}
		if t.what == Events {
			if err := r.lookBehind(ctx, t); err != nil {
				return err
			}
		}
		if t.known {
			continue
		}
		t.horizon = t.before
		switch met := latest[t.what]; {
		case t.what == Imports: // the keys were imported just now, even if they are old
		case t.oldest.IsZero() || t.oldest.After(t.before):
		case t.source != "" && met.After(t.oldest):
			t.horizon = met
		default:
			t.horizon = t.oldest
		}
	}
	return nil
}

// record stores the progress of t, and ends the wait of t for an operator.
func (r *run) record(ctx context.Context, t *task) error {
	horizon := t.horizon
	if t.done {
		horizon = t.before
	}
	progress := recordProgress{
		What: t.what, Source: t.source, Horizon: horizon, AcceptSeq: t.acceptSeq, Oldest: column.TimeOrNull(t.oldest), Rows: t.rows, Bytes: t.size,
	}
	err := r.db.Do(ctx, "record_retention", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if repeated {
			progress.Rows, progress.Bytes = 0, 0 // an earlier try may have counted the same rows
		}
		_, err := r.sql.RecordProgress.With(progress).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("record progress: %w", err)
	}
	return nil
}
