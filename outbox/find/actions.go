package find

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Actions selects operator actions. Empty fields match all.
type Actions struct {
	Who    string        `find:"who" help:"requested by this 'operator'" label:"Operator"`
	Action ledger.Action `find:"action" help:"of this 'kind', such as effect.retry" label:"Action" hint:"effect.retry"`
	Target string        `find:"target" help:"on this 'target': an effect key, SOURCE/EVENT_ID, or the name of a destination or alert" label:"Target"`
	Span
}

// IsZero reports whether a selects all actions.
func (a Actions) IsZero() bool { return a == Actions{} }

// Actions finds the operator actions before a position, newest first. A limit of 0 means 50; the
// maximum is 1,000. Errors: ErrCursor.
func (f *Finder) Actions(ctx context.Context, asked Actions, from Cursor, limit int) (Page[ledger.OperatorAction], error) {
	page, err := f.actions(ctx, asked, from, limit)
	if err != nil {
		return page, fmt.Errorf("list actions: %w", err)
	}
	return page, nil
}

func (f *Finder) actions(ctx context.Context, asked Actions, from Cursor, limit int) (Page[ledger.OperatorAction], error) {
	at, err := from.action()
	if err != nil {
		return Page[ledger.OperatorAction]{}, err
	}
	if !asked.Until.IsZero() && (at.at.IsZero() || asked.Until.Before(at.at)) {
		at = place{at: asked.Until}
	}
	return walk[int64, ledger.OperatorAction]{
		cursor: place.ofEffect, all: asked.IsZero(), budget: f.plain, load: f.loadActions,
		read: func(ctx context.Context, behind place, look, limit int) (slice[int64], error) {
			return f.actionSlice(ctx, asked, behind, look, limit)
		},
	}.page(ctx, at, min(limit, maxLimit))
}

// action parses an action's position, which has the form of an effect's position, with the id as
// key.
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

func (f *Finder) actionSlice(ctx context.Context, asked Actions, behind place, look, limit int) (slice[int64], error) {
	var s slice[int64]
	before := int64(0) // ids begin at 1, so an action with exactly this time is not found
	if behind.key != "" {
		before, _ = strconv.ParseInt(behind.key, 10, 64) // the cursor was parsed before, or this package created it
	}
	rows, err := f.sql.ActionSlice.With(actionSlice{
		Who: asked.Who, Action: asked.Action, Target: asked.Target, Since: column.TimeOrNull(asked.Since),
		BeforeTime: column.TimeOrNull(behind.at), BeforeID: before, Look: look, Limit: limit,
	}).Query(ctx, f.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var at *time.Time
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&looked, &at, &id}, func() error {
		here := place{at: column.OrZero(at), key: strconv.FormatInt(id, 10)}
		if looked > 0 || id == 0 { // the row that describes the slice
			s.looked, s.end = looked, here
			return nil
		}
		s.candidates = append(s.candidates, candidate[int64]{ref: id, place: here})
		return nil
	})
	return s, err
}

func (f *Finder) loadActions(ctx context.Context, found []candidate[int64]) (map[int64]ledger.OperatorAction, error) {
	rows, err := f.sql.Actions.With(actions{IDs: refsOf(found)}).Query(ctx, f.look)
	if err != nil {
		return nil, err
	}
	loaded, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.OperatorAction, error) {
		var a ledger.OperatorAction
		err := row.Scan(&a.ID, &a.At, &a.Who, &a.Role, &a.Via, &a.Action, &a.Target, &a.Filter, &a.Reason, &a.Result, &a.Affected, &a.RequestID, &a.Run)
		return a, err
	})
	byID := make(map[int64]ledger.OperatorAction, len(loaded))
	for _, a := range loaded {
		byID[a.ID] = a
	}
	return byID, err
}
