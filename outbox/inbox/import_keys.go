package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// importBatch is the maximum number of keys in a transaction. Deliveries of the same events wait
	// for the transaction.
	importBatch = 1_000
	// maxEventIDLen is the maximum length of an event id in bytes, as in Accept.
	maxEventIDLen = 255
)

// ImportedKey identifies an event that another system accepted.
type ImportedKey struct {
	EventID    identity.EventID
	ReceivedAt time.Time // by that system's clock
}

// Validate returns an error for a key that no event can have, and for an invalid time.
func (k ImportedKey) Validate() error {
	if err := column.ValidateKey(k.EventID, maxEventIDLen); err != nil {
		return fmt.Errorf("event id %w", err)
	}
	if column.KnownTime(k.ReceivedAt) == nil {
		return fmt.Errorf("event %q has no valid time of receipt", k.EventID)
	}
	return nil
}

type importKeys struct {
	Source identity.Source
	Keys   []ImportedKey
}

// ImportProgress counts the keys that ImportKeys has processed so far.
type ImportProgress struct {
	Done int   // number of processed keys
	New  int64 // number of new keys; the other keys were stored already
}

// ImportKeys registers events that another system accepted: later deliveries of these events are
// duplicates. Such events have no delivery and no job, are not dispatched and cannot be replayed.
// Stored keys stay unchanged, so an import can be repeated. Each batch is a transaction with its
// own row in the operator log. ImportKeys calls the function progress after each batch; progress
// may be nil.
func (i *Inbox) ImportKeys(ctx context.Context, source identity.Source, keys []ImportedKey, by ledger.Operator, progress func(ImportProgress)) (ImportProgress, error) {
	var done ImportProgress
	for _, k := range keys {
		if err := k.Validate(); err != nil {
			return done, fmt.Errorf("import keys: %w", err)
		}
	}
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	newestFirst := slices.SortedStableFunc(slices.Values(keys), func(a, b ImportedKey) int { return b.ReceivedAt.Compare(a.ReceivedAt) })
	for batch := range slices.Chunk(newestFirst, importBatch) {
		var added int64
		what := ledger.Instruction{
			Action: ledger.ActionImportKeys, Target: fmt.Sprintf("%s: keys %d to %d", source, done.Done+1, done.Done+len(batch)),
		}
		err := i.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
			tag, err := i.sql.ImportKeys.With(importKeys{Source: source, Keys: batch}).Exec(ctx, tx)
			added = tag.RowsAffected()
			return ledger.Consequence{Affected: added}, err
		})
		if err != nil {
			return done, fmt.Errorf("import keys of %s: %w", source, err)
		}
		done.Done += len(batch)
		done.New += added
		if progress != nil {
			progress(done)
		}
	}
	return done, nil
}
