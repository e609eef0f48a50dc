package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// togetherTimeout limits AcceptTogether. It may be long, because no sender waits.
const togetherTimeout = 30 * time.Second

// AcceptTogether runs T1 for all given deliveries and then calls write, in one transaction. It uses
// a connection of Options.Pool. If Options.AcceptPool is set, Accept does not wait for
// AcceptTogether.
//
// A delivery that cannot be stored is omitted and has a zero Acceptance; refused maps its index to
// the reason. The function write receives the acceptances. It runs again whenever the transaction
// is retried, and its error rolls everything back. Errors: ErrUnavailable, and errors from write.
func (o *Outbox) AcceptTogether(ctx context.Context, deliveries []Delivery, write func(ctx context.Context, tx pgx.Tx, came []Acceptance) error) (came []Acceptance, refused map[int]error, err error) {
	var batch []arrival
	var at []int // for each arrival in batch, the index of its delivery
	refused = map[int]error{}
	defer func() {
		for _, d := range deliveries {
			d.release()
		}
	}()
	for i, d := range deliveries {
		a, err := o.newArrival(d)
		if err != nil {
			refused[i] = err
			continue
		}
		batch, at = append(batch, a), append(at, i)
	}
	err = o.db.Do(ctx, "accept_together", commit.Limits{Timeout: togetherTimeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		came = make([]Acceptance, len(deliveries))
		if len(batch) > 0 {
			acceptances, err := o.acceptBatch(ctx, tx, batch)
			if err != nil {
				return err
			}
			for i, a := range acceptances {
				came[at[i]] = a
			}
		}
		return write(ctx, tx, came)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("accept together: %w", err)
	}
	return came, refused, nil
}

// Known returns a map with the value true for each id under which an event of the source is stored.
func (o *Outbox) Known(ctx context.Context, source identity.Source, ids []identity.EventID) (map[identity.EventID]bool, error) {
	refs := make([]identity.EventRef, len(ids))
	for i, id := range ids {
		refs[i] = identity.EventRef{Source: source, EventID: id}
	}
	known := make(map[identity.EventID]bool, len(ids))
	err := o.db.Statement("known_events", func(db pipeline.ByIndex) error {
		if len(refs) == 0 {
			return nil
		}
		rows, err := o.sql.KnownEvents.With(knownEvents{Events: refs}).Query(ctx, db)
		if err != nil {
			return err
		}
		var ref identity.EventRef
		_, err = pgx.ForEachRow(rows, []any{&ref.Source, &ref.EventID, nil, nil, nil}, func() error {
			known[ref.EventID] = true
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up known events: %w", err)
	}
	return known, nil
}
