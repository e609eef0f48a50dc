package retention

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// lastImported is the highest position of an imported key.
const lastImported = -1

// beginning is a position before every imported key.
const beginning = math.MinInt64

// deleteImports deletes expired imported keys of all sources in one walk. The keys of one import
// are ordered by time, but keys of several imports are not, and later imports come first. The walk
// therefore reads all keys, once a day. A run that runs out of time passes its position to the next
// run.
func (r *run) deleteImports(ctx context.Context, sources []*task) error {
	return r.walkImports(ctx, sources, func(ctx context.Context, members []member, after, until int64) ([]looked, error) {
		var events []looked
		err := r.slice(ctx, "delete_imports", func(ctx context.Context, tx pgx.Tx) error {
			rows, err := r.sql.DeleteEvents.With(r.importsBehind(members, after, until)).Query(ctx, tx)
			if err != nil {
				return err
			}
			events, err = pgx.CollectRows(rows, scanLooked)
			return err
		})
		return events, err
	})
}

// importsBehind returns the arguments for a slice of imported keys. No work needs imported keys.
func (r *run) importsBehind(members []member, after, until int64) deleteEvents {
	return deleteEvents{Members: members, After: after, Until: until, Look: r.look, Needed: []int64{}, Since: r.now.Add(Day)}
}

func (r *run) walkImports(ctx context.Context, sources []*task, take slice) error {
	members := make([]member, len(sources))
	of := make(map[identity.Source]*task, len(sources))
	after := int64(lastImported)
	for i, t := range sources {
		members[i], of[t.source] = member{Source: t.source, Before: t.before}, t
		after = min(after, t.acceptSeq)
	}
	for !r.over(ctx) {
		events, err := take(ctx, members, after, lastImported)
		if err != nil {
			return err
		}
		for _, e := range events {
			t := of[e.source]
			switch {
			case t == nil:
			case e.fate == fateGone:
				t.rows++
			case t.oldest.IsZero() || e.receivedAt.Before(t.oldest):
				t.oldest = e.receivedAt
			}
		}
		after = beginning
		if len(events) == r.look {
			after = events[len(events)-1].acceptSeq
		}
		for _, t := range sources {
			t.acceptSeq = after
		}
		if r.order.Progress != nil {
			r.order.Progress(sources[0].part())
		}
		if after == beginning {
			return nil
		}
	}
	return nil
}
