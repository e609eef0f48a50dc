package retention

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// place is where a slice of effects ends. The zero value is before all.
type place struct {
	CreatedAt  time.Time
	Scope      identity.Scope
	Key        identity.Key
	Generation int
}

// deleteEffects deletes the effects that ended before their time, the oldest first. Those
// that have not ended, or whose event is still there, are looked at in each walk. Their
// keys outlive the event, or a replay would have them done again.
func (r *run) deleteEffects(ctx context.Context, t *task) error {
	at := r.leftEffects.take()
	for !r.over(ctx) {
		var seen, gone int64
		var next place
		err := r.slice(ctx, "delete_effects", func(ctx context.Context, tx pgx.Tx) error {
			return r.sql.DeleteEffects.With(deleteEffects{place: at, Before: t.before, Look: r.look}).QueryRow(ctx, tx).
				Scan(&seen, &gone, &next.CreatedAt, &next.Scope, &next.Key, &next.Generation)
		})
		if err != nil {
			return err
		}
		t.rows, t.kept = t.rows+gone, t.kept+seen-gone
		if r.order.Progress != nil {
			r.order.Progress(t.part())
		}
		if seen < int64(r.look) {
			return nil
		}
		at = next
	}
	r.leftEffects.leave(at)
	return nil
}
