package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

// ReconcileTx enqueues up to limit unfinished effects again that have had no
// live job for longer than grace, and counts them.
func (l *Ledger) ReconcileTx(ctx context.Context, tx pgx.Tx, grace time.Duration, limit int) (int, error) {
	rows, err := l.sql.EffectsWithoutJob.With(effectsWithoutJob{GraceSeconds: grace.Seconds(), Limit: limit}).Query(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("find effects without a job: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (riverjob.EffectJob, error) {
		var j riverjob.EffectJob
		err := row.Scan(&j.ID.Scope, &j.ID.Key, &j.ID.Generation, &j.Destination, &j.Queue,
			&j.Event.Source, &j.Event.EventID, &j.EventType, &j.Traceparent)
		return j, err
	})
	if err != nil {
		return 0, fmt.Errorf("find effects without a job: %w", err)
	}
	return len(jobs), l.jobs.InsertEffects(ctx, tx, jobs)
}
