package erasure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// OfRun lists the events that a bulk run has erased so far, in order of erasure.
func (e *Eraser) OfRun(ctx context.Context, run int64) ([]identity.EventRef, error) {
	rows, err := e.sql.ErasedByRun.With(ofRun{Run: run}).Query(ctx, pipeline.ByIndex{Sender: e.read})
	if err != nil {
		return nil, fmt.Errorf("list the events that run %d has erased: %w", run, err)
	}
	refs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity.EventRef, error) {
		var target string
		err := row.Scan(&target)
		source, id, _ := strings.Cut(target, "/")
		return identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the events that run %d has erased: %w", run, err)
	}
	return refs, nil
}

// JobsOfRun deletes the jobs of the events that a bulk run has erased, and of their effects. It may
// be called again. JobsOfRun calls the function still before each slice and returns its error; still
// may be nil.
func (e *Eraser) JobsOfRun(ctx context.Context, run int64, still func(context.Context) error) error {
	refs, err := e.OfRun(ctx, run)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(refs, jobsTogether) {
		effects, err := e.effectsOf(ctx, some)
		if err == nil {
			err = e.eraseJobs(ctx, jobsOf{events: some, effects: effects}, still)
		}
		if err != nil {
			return fmt.Errorf("delete the jobs of the events that run %d has erased: %w", run, err)
		}
	}
	return nil
}

// effectsOf returns the effects that events created.
func (e *Eraser) effectsOf(ctx context.Context, events []identity.EventRef) ([]identity.EffectID, error) {
	rows, err := e.sql.EffectsOfEvents.With(ofEvents{Events: events}).Query(ctx, pipeline.ByIndex{Sender: e.read})
	if err != nil {
		return nil, fmt.Errorf("find effects: %w", err)
	}
	effects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[identity.EffectID])
	if err != nil {
		return nil, fmt.Errorf("find effects: %w", err)
	}
	return effects, nil
}
