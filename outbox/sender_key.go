package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// senderKeysOfSource is the number of newest keys kept per source. A sender uses one or two keys at
// a time.
const senderKeysOfSource = 8

// SenderKey is a public key with which a delivery of a source was verified.
type SenderKey struct {
	Source identity.Source
	ID     string // the provider's name for the key; unique in the source
	// Document is the key as the sender published it. Nil: the sender no longer publishes it.
	Document []byte
	Age      time.Duration // time since it was last stored; not used by KeepSenderKey
}

// SenderKeys returns the keys kept for a source, newest first.
func (o *Outbox) SenderKeys(ctx context.Context, source identity.Source) ([]SenderKey, error) {
	var keys []SenderKey
	err := o.acceptDB.Statement("sender_keys", func(db pipeline.ByIndex) error {
		rows, err := o.sql.SenderKeys.With(senderKeys{Source: source}).Query(ctx, db)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (SenderKey, error) {
			k := SenderKey{Source: source}
			var age float64
			err := row.Scan(&k.ID, &k.Document, &age)
			k.Age = time.Duration(age * float64(time.Second))
			return k, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sender keys: %w", err)
	}
	return keys, nil
}

// KeepSenderKey stores a key in the background, so that the response to a delivery does not wait.
// Losing a key is harmless: it is fetched from the sender again.
func (o *Outbox) KeepSenderKey(k SenderKey) {
	go func() {
		if _, err := o.senderKeys.Submit(context.Background(), k); err != nil {
			o.logger.Warn("key of the sender not kept", slog.String(logkey.Source, string(k.Source)), slog.Any(logkey.Err, err))
		}
	}()
}

type senderKeys struct{ Source identity.Source }

type senderKeyRow struct {
	Source   identity.Source
	KeyID    string
	Document []byte
}

type keepSenderKeys struct{ Keys []senderKeyRow }

type forgetSenderKeys struct {
	Sources []identity.Source
	Kept    int // per source
}

func (o *Outbox) keepSenderKeyBatch(ctx context.Context, tx pgx.Tx, batch []SenderKey) ([]struct{}, error) {
	type name struct {
		source identity.Source
		id     string
	}
	index := make(map[name]int, len(batch))
	var keys []senderKeyRow
	var sources []identity.Source
	for _, k := range batch {
		i, seen := index[name{k.Source, k.ID}]
		if !seen {
			i = len(keys)
			index[name{k.Source, k.ID}] = i
			keys, sources = append(keys, senderKeyRow{Source: k.Source, KeyID: k.ID}), append(sources, k.Source)
		}
		keys[i].Document = k.Document // a later document replaces an earlier one
	}
	if _, err := o.sql.KeepSenderKeys.With(keepSenderKeys{Keys: keys}).Exec(ctx, tx); err != nil {
		return nil, fmt.Errorf("keep sender keys: %w", err)
	}
	if _, err := o.sql.ForgetSenderKeys.With(forgetSenderKeys{Sources: sources, Kept: senderKeysOfSource}).Exec(ctx, tx); err != nil {
		return nil, fmt.Errorf("forget sender keys: %w", err)
	}
	return make([]struct{}, len(batch)), nil
}
