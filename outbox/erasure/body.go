package erasure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/payload"
)

// eraseItem takes the event's own part out of a body that others need. It reports
// whether it is still there, because nothing tells it from theirs.
func (e *Eraser) eraseItem(ctx context.Context, tx pgx.Tx, event lockedEvent) (remains bool, err error) {
	contentType, body, err := e.storedDelivery(ctx, tx, event)
	if err != nil || len(body) == 0 {
		return false, err
	}
	if event.item == "" {
		return true, nil
	}
	places := payload.Places(contentType, body, event.item, []string{""})
	if len(places) == 0 {
		return true, nil
	}
	return false, e.blot(ctx, tx, event, body, places, blotItem)
}

// storedDelivery is the body the event came in, nil when it is no longer kept. Nobody
// else changes it before the transaction ends.
func (e *Eraser) storedDelivery(ctx context.Context, tx pgx.Tx, event lockedEvent) (contentType string, body []byte, err error) {
	err = e.sql.StoredDelivery.With(deliveryOf{DeliveryID: event.deliveryID, ReceivedAt: event.receivedAt}).QueryRow(ctx, tx).Scan(&contentType, &body)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("read delivery: %w", err)
	}
	return contentType, body, nil
}

// errBodyChanged: another erasure changed the body since it was read.
var errBodyChanged = errors.New("the body was changed meanwhile")

func (e *Eraser) blot(ctx context.Context, tx pgx.Tx, event lockedEvent, body []byte, places []jsonpointer.Place, kind blotKind) error {
	sum := sha256.Sum256(body)
	b := blotDelivery{deliveryOf: deliveryOf{DeliveryID: event.deliveryID, ReceivedAt: event.receivedAt}, Was: sum[:], Kind: kind}
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
