package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// deleteAged deletes expired content guards, records of replays, or operator actions.
func (r *run) deleteAged(ctx context.Context, t *task) error {
	switch t.what { //nolint:exhaustive // of all other kinds, only Operations comes here
	case Contents:
		return r.deleteOld(ctx, t, "delete_contents", r.sql.DeleteContents)
	case Replays:
		return r.deleteOld(ctx, t, "delete_replays", r.sql.DeleteReplays)
	default:
		return r.deleteOperations(ctx, t)
	}
}

// deleteOperations deletes expired operator actions, and the other rows with the same retention. It
// deletes another slice while any of these tables may have more expired rows.
func (r *run) deleteOperations(ctx context.Context, t *task) error {
	for !r.over(ctx) {
		var gone, most int64
		err := r.slice(ctx, "delete_operations", func(ctx context.Context, tx pgx.Tx) error {
			return r.sql.DeleteOperations.With(olderThan{Before: t.before, Look: r.look}).QueryRow(ctx, tx).Scan(&gone, &most)
		})
		if err != nil {
			return err
		}
		t.rows += gone
		if most < int64(r.look) {
			return nil
		}
	}
	return nil
}

// deleteOld deletes the expired rows of one table in slices, oldest first.
func (r *run) deleteOld(ctx context.Context, t *task, name commit.Name, oldest statement.Of[olderThan]) error {
	for !r.over(ctx) {
		var gone int64
		err := r.slice(ctx, name, func(ctx context.Context, tx pgx.Tx) error {
			tag, err := oldest.With(olderThan{Before: t.before, Look: r.look}).Exec(ctx, tx)
			gone = tag.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
		t.rows += gone
		if gone < int64(r.look) {
			return nil
		}
	}
	return nil
}

// deleteGuards deletes a source's replay guards that were not seen within the dedup period. By then
// the guarded events have expired. A guard that was seen again is kept for the full period after
// that time.
func (r *run) deleteGuards(ctx context.Context, t *task) error {
	at := guardsAged{Source: t.source, SeenAt: t.horizon.Add(-grain), Hash: []byte{}, Before: t.before, Look: r.look}
	if !t.known {
		at.SeenAt = time.Unix(0, 0)
	}
	for !r.over(ctx) {
		var seen, gone int64
		next := at
		err := r.slice(ctx, "delete_guards", func(ctx context.Context, tx pgx.Tx) error {
			next = at
			return r.sql.DeleteGuards.With(at).QueryRow(ctx, tx).Scan(&seen, &gone, &next.SeenAt, &next.Hash)
		})
		if err != nil {
			return err
		}
		t.rows += gone
		if seen < int64(r.look) {
			return nil
		}
		at = next
	}
	return nil
}

// versionPlace is the end of a slice of versions. The zero value is before all versions.
type versionPlace struct {
	Scope     identity.Scope
	LatestKey string
}

// deleteVersions walks the versions of all objects once a day, in key order. It deletes the
// versions of objects to which no effect was applied within the effects' retention. An older event
// can then be applied again.
func (r *run) deleteVersions(ctx context.Context, t *task) error {
	at := r.leftVersions.take()
	for !r.over(ctx) {
		var seen, gone int64
		var next versionPlace
		err := r.sparse(ctx, "delete_versions", func(ctx context.Context, tx pgx.Tx) error {
			return r.sql.DeleteVersions.With(versionsAged{versionPlace: at, Before: t.before, Look: lookedAtAtOnce}).QueryRow(ctx, tx).
				Scan(&seen, &gone, &next.Scope, &next.LatestKey)
		})
		if err != nil {
			return fmt.Errorf("walk versions: %w", err)
		}
		t.rows += gone
		if r.order.Progress != nil {
			r.order.Progress(t.part())
		}
		if seen < lookedAtAtOnce {
			return nil
		}
		at = next
	}
	r.leftVersions.leave(at)
	return nil
}
