package retention

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
)

// Plan counts the rows that a run would delete, and deletes nothing. In its Report, Kept counts the
// rows that unfinished work is already known to need.
func (k *Keeper) Plan(ctx context.Context, settings Settings) (Report, error) {
	r := &run{Keeper: k, order: Order{Settings: settings}, look: lookedAtAtOnce}
	err := r.prepare(ctx)
	if err == nil {
		err = r.countAll(ctx)
	}
	if err != nil {
		return Report{}, fmt.Errorf("plan retention: %w", err)
	}
	return r.report(r.stopped()), nil
}

func (r *run) countAll(ctx context.Context) error {
	for _, t := range r.tasks {
		if !t.due() {
			continue
		}
		var err error
		switch t.what {
		case Payloads:
			err = r.countDays(ctx, t, wholeDeliveries, wholeSearchValues)
		case Details:
			err = r.countDays(ctx, t, wholeAttempts, wholeTransitions, wholeLinks)
		case Events, Imports:
			// All sources are counted together, below.
		case Guards:
			err = r.count(ctx, t, "replay_guards", r.sql.CountGuards.With(countOf{Source: t.source, Before: t.before}))
		case Contents:
			err = r.count(ctx, t, "content_guards", r.sql.CountContents.With(before{Before: t.before}))
		case Effects:
			err = r.count(ctx, t, "effects", r.sql.CountEffects.With(before{Before: t.before}))
		case Replays:
			err = r.count(ctx, t, "event_replays", r.sql.CountReplays.With(before{Before: t.before}))
		case Versions:
			err = r.count(ctx, t, "object_versions", r.sql.CountVersions.With(before{Before: t.before}))
		case Operations:
			err = r.count(ctx, t, "operator_log", r.sql.CountOperations.With(before{Before: t.before}))
		}
		if err != nil {
			return fmt.Errorf("count %s: %w", t.name(), err)
		}
	}
	if imports := r.due(Imports); len(imports) > 0 {
		if err := r.countImports(ctx, imports); err != nil {
			return fmt.Errorf("count imported keys: %w", err)
		}
	}
	return r.countEvents(ctx, r.due(Events))
}

// countImports walks all imported keys from the beginning, and only counts them.
func (r *run) countImports(ctx context.Context, sources []*task) error {
	for _, t := range sources {
		t.acceptSeq = beginning
	}
	err := r.walkImports(ctx, sources, func(ctx context.Context, members []member, after, until int64) ([]looked, error) {
		return r.lookAt(ctx, r.importsBehind(members, after, until))
	})
	for _, t := range sources {
		if err == nil {
			err = r.estimate(ctx, t, "processed_events")
		}
	}
	return err
}

// countDays adds up the rows and bytes of the days that would be deleted. The number of rows is the
// planner's estimate.
func (r *run) countDays(ctx context.Context, t *task, tables ...string) error {
	for _, whole := range tables {
		days, err := r.partitions(ctx, whole)
		if err != nil {
			return err
		}
		for _, p := range days {
			switch {
			case p.end().After(t.before):
			case p.thin:
				t.kept += p.rows
			default:
				t.rows, t.size = t.rows+p.rows, t.size+p.bytes
			}
		}
	}
	return nil
}

// count counts a table's rows that would be deleted, and rows that would be kept.
func (r *run) count(ctx context.Context, t *task, table string, question statement.Bound) error {
	if err := question.QueryRow(ctx, pipeline.ByIndex{Sender: r.pool}).Scan(&t.rows, &t.kept); err != nil {
		return err
	}
	return r.estimate(ctx, t, table)
}

// estimate sets the size of t to the estimated disk space of its rows, including their indexes.
func (r *run) estimate(ctx context.Context, t *task, table string) error {
	var width float64
	if err := r.sql.RowWidth.With(rowWidth{Table: table}).QueryRow(ctx, r.pool).Scan(&width); err != nil {
		return fmt.Errorf("width of a row: %w", err)
	}
	t.size = int64(width * float64(t.rows))
	return nil
}

// countEvents walks events like a run, but only counts them.
func (r *run) countEvents(ctx context.Context, sources []*task) error {
	var err error
	if r.needs, err = r.need(ctx); err != nil {
		return err
	}
	walks := make([]*walk, len(sources))
	for i, t := range sources {
		copied := *t
		walks[i] = &walk{task: &copied} // keeps the cursor unchanged
	}
	for {
		next, until := nextWalk(walks)
		if len(next) == 0 || r.over(ctx) {
			break
		}
		if err := r.walkOnce(ctx, next, until, r.lookAtSlice); err != nil {
			return err
		}
	}
	for i, t := range sources {
		t.rows, t.kept = walks[i].rows, walks[i].kept
		if err := r.estimate(ctx, t, "processed_events"); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lookAtSlice returns the fates of the events in a slice.
func (r *run) lookAtSlice(ctx context.Context, members []member, after, until int64) ([]looked, error) {
	return r.lookAt(ctx, deleteEvents{
		Members: members, After: after, Until: until, Look: r.look, Needed: r.needs.behind(after, r.look), Since: r.needs.since,
	})
}

func (r *run) lookAt(ctx context.Context, asked deleteEvents) ([]looked, error) {
	rows, err := r.sql.LookAtEvents.With(asked).Query(ctx, pipeline.ByIndex{Sender: r.pool})
	if err != nil {
		return nil, fmt.Errorf("look at events: %w", err)
	}
	events, err := pgx.CollectRows(rows, scanLooked)
	if err != nil {
		return nil, fmt.Errorf("look at events: %w", err)
	}
	return events, nil
}
