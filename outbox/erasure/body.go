package erasure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// eraseItem removes the event's own part from a body that other events need. It also removes every
// part that belongs to no event, because such parts are copies of repeated events. It reports
// whether the event's own part remains. The part remains if it overlaps other events' parts or
// cannot be located.
func (e *Eraser) eraseItem(ctx context.Context, tx pgx.Tx, event lockedEvent) (remains bool, err error) {
	of := event.delivery()
	contentType, body, err := e.storedDelivery(ctx, tx, of)
	if err != nil || len(body) == 0 {
		return false, err
	}
	if event.item == "" || len(payload.Places(contentType, body, event.item, []string{""})) == 0 {
		return true, nil
	}
	items, err := e.itemsOf(ctx, tx, firstOfDelivery{deliveryOf: of, AcceptSeq: event.acceptSeq})
	if err != nil {
		return false, err
	}
	return e.eraseStrays(ctx, tx, of, items, event.item, body)
}

// eraseStrays removes the part at the position item from a body, and the siblings of this part. A
// part stays if it overlaps a part at a position in items, which lists the events that stay.
// eraseStrays reports whether the part at item stays for this reason.
func (e *Eraser) eraseStrays(ctx context.Context, tx pgx.Tx, of deliveryOf, items []string, item string, body []byte) (shared bool, err error) {
	var kept []jsonpointer.Place
	for _, other := range items {
		if other == "" {
			return true, nil // the whole body is an event
		}
		kept = append(kept, jsonpointer.Places(body, other)...)
	}
	isKept := func(p jsonpointer.Place) bool {
		return slices.ContainsFunc(kept, func(k jsonpointer.Place) bool { return p.Start < k.End && k.Start < p.End })
	}
	shared = slices.ContainsFunc(jsonpointer.Places(body, item), isKept)
	strays := slices.DeleteFunc(jsonpointer.Siblings(body, item), func(p jsonpointer.Place) bool {
		return string(body[p.Start:p.End]) == "null" || isKept(p)
	})
	if len(strays) == 0 {
		return shared, nil
	}
	return shared, e.blot(ctx, tx, of, body, strays, blotItem)
}

// itemsOf returns the positions of a delivery's events that are stored and not erased.
func (e *Eraser) itemsOf(ctx context.Context, tx pgx.Tx, of firstOfDelivery) ([]string, error) {
	rows, err := e.sql.ItemsOfDelivery.With(of).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find the events of the delivery: %w", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find the events of the delivery: %w", err)
	}
	return items, nil
}

// storedDelivery returns a delivery's content type and body, or a nil body if the delivery is no
// longer stored. It locks the delivery: no other transaction changes the body until tx ends.
func (e *Eraser) storedDelivery(ctx context.Context, tx pgx.Tx, of deliveryOf) (contentType string, body []byte, err error) {
	err = e.sql.StoredDelivery.With(of).QueryRow(ctx, tx).Scan(&contentType, &body)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("read delivery: %w", err)
	}
	return contentType, body, nil
}

// errBodyChanged is returned when the body was changed or deleted after it was read.
var errBodyChanged = errors.New("the body was changed meanwhile")

func (e *Eraser) blot(ctx context.Context, tx pgx.Tx, of deliveryOf, body []byte, places []jsonpointer.Place, kind blotKind) error {
	sum := sha256.Sum256(body)
	b := blotDelivery{deliveryOf: of, Was: sum[:], Kind: kind}
	for _, p := range places {
		b.Starts, b.Lengths = append(b.Starts, p.Start), append(b.Lengths, p.End-p.Start)
	}
	var done bool
	if err := e.sql.BlotDelivery.With(b).QueryRow(ctx, tx).Scan(&done); err != nil {
		return fmt.Errorf("replace values of the body: %w", err)
	}
	if !done {
		return errBodyChanged
	}
	return nil
}
