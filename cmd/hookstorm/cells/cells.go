// Package cells moves a source between two cells again and again while its events arrive. A sweep
// uses it to visit the failpoints of moves. Both cells are schemas of the run's database that
// nothing else uses.
package cells

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// source is the source that moves.
const source = identity.Source("roaming")

// schemas lists the schemas of the two cells.
var schemas = []schema.Name{"cell_a", "cell_b"}

// endLimit is the maximum duration of End.
const endLimit = time.Minute

// Prepare creates the schemas of the cells.
func Prepare(ctx context.Context, pool *pgxpool.Pool) error {
	for _, name := range schemas {
		migrator, err := schema.NewMigrator(pool, name, nil)
		if err != nil {
			return err
		}
		if _, err := migrator.Up(ctx); err != nil {
			return fmt.Errorf("create cell %s: %w", name, err)
		}
	}
	return nil
}

// Cells are the two cells between which the source moves.
type Cells struct {
	pool  *pgxpool.Pool
	boxes []*outbox.Outbox
}

// New returns the cells of a database.
func New(pool *pgxpool.Pool) (*Cells, error) {
	c := &Cells{pool: pool}
	for _, name := range schemas {
		box, err := outbox.New(outbox.Options{Pool: pool, Schema: name})
		if err != nil {
			return nil, err
		}
		c.boxes = append(c.boxes, box)
	}
	return c, nil
}

// Stop stops the outboxes of both cells.
func (c *Cells) Stop(ctx context.Context) error {
	return errors.Join(c.boxes[0].Stop(ctx), c.boxes[1].Stop(ctx))
}

// Round delivers some events, each twice. It begins a move of the source to the other cell and
// abandons it, and then moves the source. Another event arrives while rows are copied.
func (c *Cells) Round(ctx context.Context, by ledger.Operator) error {
	at, err := c.at(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		if err := c.deliver(ctx, at); err != nil {
			return err
		}
	}
	if err := c.dispatch(ctx, at); err != nil {
		return err
	}
	if err := c.abandon(ctx, at, by); err != nil {
		return err
	}
	move, arrived := c.move(at, by), false
	move.Tell = func(moves.Step) {
		if !arrived {
			arrived = true
			_ = errors.Join(c.deliver(ctx, at), c.dispatch(ctx, at)) // the move fails if an event remains undispatched
		}
	}
	return move.Run(ctx)
}

// abandon begins a move out of a cell, interrupts it after the first rows, and abandons it.
func (c *Cells) abandon(ctx context.Context, at int, by ledger.Operator) error {
	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	move := c.move(at, by)
	move.Tell = func(moves.Step) { interrupt() }
	if err := move.Run(interrupted); !errors.Is(err, context.Canceled) {
		return err
	}
	err := move.Abandon(ctx)
	if errors.Is(err, moves.ErrMoved) { // an earlier, interrupted round had handed the source over
		return nil
	}
	return err
}

// move returns a move of the source from the cell at the given index to the other cell.
func (c *Cells) move(at int, by ledger.Operator) *moves.Move {
	to := 1 - at
	return &moves.Move{
		Source: source, By: by,
		From: moves.Side{Cell: string(schemas[at]), Moves: c.boxes[at].Moves()},
		To:   moves.Side{Cell: string(schemas[to]), Moves: c.boxes[to].Moves()},
	}
}

// deliver delivers an event twice. It ignores the refusals of a cell while the source moves.
func (c *Cells) deliver(ctx context.Context, at int) error {
	id := uuid.NewString()
	for range 2 {
		_, err := c.boxes[at].Accept(ctx, outbox.Delivery{
			Source: source, Provider: "hmac", ContentType: "application/json", Body: []byte(`{}`), Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "roamed"}},
		})
		if err != nil && !moves.Refused(err) {
			return err
		}
	}
	return nil
}

// at returns the index of the cell that stores the source's events. After an interrupted move, it
// returns the index of the cell from which the move can be completed.
func (c *Cells) at(ctx context.Context) (int, error) {
	var states [2]moves.State
	for i, box := range c.boxes {
		all, err := box.Moves().States(ctx, []string{string(source)})
		if err != nil {
			return 0, err
		}
		states[i] = all[string(source)]
	}
	if a, b := states[0], states[1]; b.Arrived && !b.Left || b.Left && !a.Arrived {
		return 1, nil
	}
	return 0, nil
}

// dispatch dispatches all undispatched events of a cell.
func (c *Cells) dispatch(ctx context.Context, at int) error {
	rows, err := c.pool.Query(ctx, "SELECT event_id FROM "+string(schemas[at])+".processed_events WHERE outcome = 'received'")
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[identity.EventID])
	if err != nil {
		return err
	}
	for _, id := range ids {
		var e *inbox.Event
		if e, err = c.boxes[at].Inbox().Event(ctx, identity.EventRef{Source: source, EventID: id}); err != nil {
			return err
		}
		if _, err := c.boxes[at].Dispatch(ctx, outbox.Dispatch{Event: e}); err != nil {
			return err
		}
	}
	return nil
}

// End completes an interrupted move, or moves the source once more. It returns an error if an event
// is stored in both cells, or is unknown in the cell that stores the source's events.
func (c *Cells) End(ctx context.Context, by ledger.Operator) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	if err := c.Round(ctx, by); err != nil {
		return fmt.Errorf("move the source at the end: %w", err)
	}
	at, err := c.at(ctx)
	if err != nil {
		return err
	}
	stored := map[string]int{}
	known := map[string]bool{}
	for i, name := range schemas {
		rows, err := c.pool.Query(ctx, "SELECT event_id, outcome <> 'imported' FROM "+string(name)+".processed_events")
		if err != nil {
			return err
		}
		var id string
		var here bool
		if _, err := pgx.ForEachRow(rows, []any{&id, &here}, func() error {
			if here {
				stored[id]++
			}
			known[id] = known[id] || i == at
			return nil
		}); err != nil {
			return err
		}
	}
	var wrong []string
	for id, times := range stored {
		if times > 1 || !known[id] {
			wrong = append(wrong, id)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("of %d events of a moving source, these are stored twice or unknown in its cell: %v", len(stored), wrong)
	}
	return nil
}
