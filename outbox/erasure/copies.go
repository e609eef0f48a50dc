package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// copyOf identifies the part of a delivery's body in which the delivery repeats an event.
type copyOf struct {
	deliveryOf

	item string
}

// blotTries is the maximum number of tries to erase a copy if other transactions change its body.
const blotTries = 5

// eraseCopies removes an event from the deliveries that repeated it.
func (e *Eraser) eraseCopies(ctx context.Context, tx pgx.Tx, ref identity.EventRef) error {
	rows, err := e.sql.CopiesOfEvent.With(ref).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("find copies: %w", err)
	}
	copies, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c copyOf, err error) {
		return c, row.Scan(&c.DeliveryID, &c.ReceivedAt, &c.item)
	})
	if err != nil {
		return fmt.Errorf("find copies: %w", err)
	}
	for _, c := range copies {
		err := errBodyChanged
		for try := 0; try < blotTries && errors.Is(err, errBodyChanged); try++ {
			err = e.eraseCopy(ctx, tx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Eraser) eraseCopy(ctx context.Context, tx pgx.Tx, c copyOf) error {
	_, body, err := e.storedDelivery(ctx, tx, c.deliveryOf)
	if err != nil {
		return err
	}
	places := slices.DeleteFunc(jsonpointer.Places(body, c.item), func(p jsonpointer.Place) bool {
		return string(body[p.Start:p.End]) == "null" // the part was erased before
	})
	if len(places) == 0 {
		return nil
	}
	return e.blot(ctx, tx, c.deliveryOf, body, places, blotItem)
}
