package retention

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// place is the end of a slice of effects. The zero value is before all effects.
type place struct {
	CreatedAt  time.Time
	Scope      identity.Scope
	Key        identity.Key
	Generation int
}

// deleteEffects deletes effects that have ended and expired, oldest first. Every walk rechecks the
// effects that have not ended, or whose event is still stored. The keys of effects outlive the
// event; otherwise a replay would repeat the effects.
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
