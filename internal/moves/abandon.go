package moves

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ErrMoved is returned by Abandon if the old cell has already handed the source over.
var ErrMoved = errors.New("the source has already moved")

var (
	errNotBegun   = errors.New("no such move has begun")
	errBegunAgain = errors.New("a new move has begun meanwhile")
)

// Abandon ends a move that Run has begun and not completed. The old cell keeps the source, and
// notes no more rows for the move. Copied rows stay in the new cell until they expire. A later Run
// copies everything again. Abandon can be interrupted at any time, and then repeated. Abandon fails
// if no such move has begun, or if a new move begins meanwhile. Errors: ErrMoved, and errors of the
// database.
func (v *Move) Abandon(ctx context.Context) error {
	if err := v.abandon(ctx); err != nil {
		return fmt.Errorf("abandon the move of %s to the cell %s: %w", v.Source, v.To.Cell, err)
	}
	return nil
}

func (v *Move) abandon(ctx context.Context) error {
	// The move is ended before its triggers are dropped. A Run that missed rows because its
	// triggers were dropped therefore cannot complete.
	err := v.From.opts.Ledger.Act(ctx, v.By, v.instruction(), func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		var begun bool
		err := v.From.sql.Abandon.With(beginLeaving{Source: v.Source, ToCell: v.To.Cell}).QueryRow(ctx, tx).Scan(&begun)
		if !begun {
			return ledger.Consequence{Result: "no change"}, err
		}
		return ledger.Consequence{Result: "move to the cell " + v.To.Cell + " abandoned"}, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		states, err := v.From.States(ctx, []string{string(v.Source)})
		switch {
		case err != nil:
			return err
		case states[string(v.Source)].Left:
			return ErrMoved
		}
		return errNotBegun
	}
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := v.clear(ctx, commit.Limits{Timeout: tableTimeout}, func(ctx context.Context, tx pgx.Tx) error {
			_, err := v.From.sql.EndTable.With(tableArgs{Source: v.Source, TableName: t.name}).Exec(ctx, tx)
			return err
		}); err != nil {
			return fmt.Errorf("drop the triggers of %s (only the role that owns the tables may): %w", t.name, err)
		}
	}
	for more := true; more; {
		if err := v.clear(ctx, commit.Limits{}, func(ctx context.Context, tx pgx.Tx) error {
			tag, err := v.From.sql.DropRows.With(notedRows{Source: v.Source, Limit: pageRows}).Exec(ctx, tx)
			more = tag.RowsAffected() == pageRows
			return err
		}); err != nil {
			return fmt.Errorf("delete noted rows: %w", err)
		}
	}
	return nil
}

// clear calls the function remove, which drops triggers or deletes noted rows that the abandoned
// move needed. It fails if a new move has begun, because the new move needs the same triggers and
// noted rows.
func (v *Move) clear(ctx context.Context, limits commit.Limits, remove func(ctx context.Context, tx pgx.Tx) error) error {
	return v.From.opts.DB.Do(ctx, "abandon_move", limits, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var source identity.Source
		err := v.From.sql.LockAbandoned.With(sourceArgs{v.Source}).QueryRow(ctx, tx).Scan(&source)
		if errors.Is(err, pgx.ErrNoRows) {
			return errBegunAgain
		}
		if err != nil {
			return err
		}
		return remove(ctx, tx)
	})
}
