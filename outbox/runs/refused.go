package runs

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// refusedAtOnce is the page size for refused deliveries.
const refusedAtOnce = 1_000

// OfRefused reports whether the targets are refused deliveries.
func (o Order) OfRefused() bool { return verbOf(o.Action).refused }

// refusedPage finds the next refused deliveries that an Order selects.
func (r *Runs) refusedPage(ctx context.Context, o Order, from find.Cursor) (find.Page[find.Found], error) {
	page := find.Page[find.Found]{Next: from}
	after, err := quarantine.ParseMark(string(from))
	if err != nil {
		return page, err
	}
	next, err := r.opts.Quarantine.Onward(ctx, o.Quarantine, after, refusedAtOnce)
	for i := range next {
		page.Next = find.Cursor(next[i].Mark().String())
		page.Rows = append(page.Rows, find.Found{Cursor: page.Next, At: next[i].RejectedAt, Key: next[i].ID.String()})
	}
	page.More = len(next) == refusedAtOnce
	return page, err
}

// verifyAgain verifies a refused delivery again, and removes it from the quarantine if it was
// accepted. The acceptance is committed first, in a separate transaction. If the removal is lost,
// the delivery is verified again and is a duplicate.
func verifyAgain(ctx context.Context, s *shift, place string, some []find.Found) error {
	id, err := uuid.Parse(some[0].Key)
	if err != nil {
		return err
	}
	found, err := s.opts.Quarantine.Next(ctx, quarantine.Filter{ID: id}, quarantine.Mark{}, 1)
	if err != nil {
		return err
	}
	var did Counts
	if len(found) > 0 { // the delivery has neither expired nor been dropped
		verdict, err := s.verify(ctx, &found[0])
		switch {
		case err != nil:
			return fmt.Errorf("verify %s again: %w", id, err)
		case verdict.Refused != "":
			did.Refused = map[string]int64{verdict.Refused: 1}
		case verdict.New:
			did.Changed = 1
		default:
			did.Changed, did.Duplicates = 1, 1
		}
	}
	return s.step(ctx, place, 1, func(ctx context.Context, tx pgx.Tx) (Counts, error) {
		if did.Changed == 0 {
			return did, nil
		}
		_, err := s.opts.Quarantine.RemoveTx(ctx, tx, id)
		return did, err
	})
}

func dropRefused(ctx context.Context, tx pgx.Tx, r *Runs, _ Run, some []find.Found) (Counts, error) {
	ids := make([]uuid.UUID, len(some))
	for i, f := range some {
		var err error
		if ids[i], err = uuid.Parse(f.Key); err != nil {
			return Counts{}, err
		}
	}
	dropped, err := r.opts.Quarantine.RemoveTx(ctx, tx, ids...)
	return Counts{Changed: dropped}, err
}
