package find

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ActionFilter selects what people ordered. Empty fields take all.
type ActionFilter struct {
	Who    string
	Action ledger.Action
	Target string
	Since  time.Time // ordered at or after
	Until  time.Time // ordered before
}

// Actions finds what people ordered from a place back, the newest first: limit of them,
// or 50 when it is 0, and 1,000 at most.
func (b *Finder) Actions(ctx context.Context, f ActionFilter, from Cursor, limit int) (Page[ledger.OperatorAction], error) {
	page, err := b.actions(ctx, f, from, limit)
	if err != nil {
		return page, fmt.Errorf("list actions: %w", err)
	}
	return page, nil
}

func (b *Finder) actions(ctx context.Context, f ActionFilter, from Cursor, limit int) (Page[ledger.OperatorAction], error) {
	at, err := from.action()
	if err != nil {
		return Page[ledger.OperatorAction]{}, err
	}
	if !f.Until.IsZero() && (at.at.IsZero() || f.Until.Before(at.at)) {
		at = place{at: f.Until}
	}
	return walk[int64, ledger.OperatorAction]{
		cursor: place.ofEffect, all: f == (ActionFilter{}), budget: b.plain, load: b.loadActions,
		read: func(ctx context.Context, behind place, look, limit int) (slice[int64], error) {
			return b.actionSlice(ctx, f, behind, look, limit)
		},
	}.page(ctx, at, limit)
}

// action reads the place of an action, which is written as that of an effect: its key is
// the id.
func (c Cursor) action() (place, error) {
	at, err := c.effect()
	if err == nil && at.key != "" {
		_, err = strconv.ParseInt(at.key, 10, 64)
	}
	if err != nil {
		return place{}, fmt.Errorf("%q is %w of actions", string(c), ErrCursor)
	}
	return at, nil
}

func (b *Finder) actionSlice(ctx context.Context, f ActionFilter, behind place, look, limit int) (slice[int64], error) {
	var s slice[int64]
	before := int64(0) // ids begin at 1: nothing of this moment is behind it
	if behind.key != "" {
		before, _ = strconv.ParseInt(behind.key, 10, 64) // it was read before, or is of ours
	}
	rows, err := b.sql.ActionSlice.With(actionSlice{
		Who: f.Who, Action: f.Action, Target: f.Target, Since: column.TimeOrNull(f.Since),
		BeforeTime: column.TimeOrNull(behind.at), BeforeID: before, Look: look, Limit: limit,
	}).Query(ctx, b.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var at *time.Time
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&looked, &at, &id}, func() error {
		here := place{at: column.OrZero(at), key: strconv.FormatInt(id, 10)}
		if looked > 0 || id == 0 { // what the slice was
			s.looked, s.end = looked, here
			return nil
		}
		s.candidates = append(s.candidates, candidate[int64]{ref: id, place: here})
		return nil
	})
	return s, err
}

func (b *Finder) loadActions(ctx context.Context, ids []int64) (map[int64]ledger.OperatorAction, error) {
	rows, err := b.sql.Actions.With(actions{IDs: ids}).Query(ctx, b.look)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.OperatorAction, error) {
		var a ledger.OperatorAction
		err := row.Scan(&a.ID, &a.At, &a.Who, &a.Role, &a.Via, &a.Action, &a.Target, &a.Filter, &a.Reason, &a.Result, &a.Affected, &a.RequestID, &a.Run)
		return a, err
	})
	byID := make(map[int64]ledger.OperatorAction, len(found))
	for _, a := range found {
		byID[a.ID] = a
	}
	return byID, err
}
