package quarantine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

func labelsOf(source identity.Source) attribute.Set {
	return attribute.NewSet(attribute.String("source", string(source)))
}

type rejectedRow struct {
	RejectionID uuid.UUID
	Source      identity.Source
	SecondsAgo  float64
	Reason      string
	Detail      string
	Address     string
	Known       bool
	Method      string
	Host        string
	Secure      bool
	Target      string
	Headers     []byte
	Secrets     []byte
	Body        []byte
	Bytes       int
}

type keepRejected struct{ Rejected []rejectedRow }

type trimRejected struct {
	Sources []identity.Source
	Rows    int // per half of a source's caps
	Bytes   int64
}

// write inserts a batch and deletes rows that then exceed the caps. It returns the contents of the
// halves of the batch's sources afterwards. Only one such transaction runs at a time, across all
// processes: each transaction must see the rows of the others.
func (k *Keeper) write(ctx context.Context, batch []*pending) ([]content, error) {
	sources := make([]identity.Source, len(batch))
	for i, p := range batch {
		sources[i] = p.Source
	}
	slices.Sort(sources)
	trim := trimRejected{Sources: slices.Compact(sources), Rows: maxRows / 2, Bytes: maxBytes / 2}
	limits := commit.Limits{Timeout: k.timeout}
	var left []content
	err := k.db.Do(ctx, "keep_rejected", limits, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var key []byte
		if err := k.sql.LockQuarantine.QueryRow(ctx, tx).Scan(&key); err != nil {
			return err
		}
		rows, err := rowsOf(batch, key)
		if err != nil {
			return err
		}
		if _, err := k.sql.KeepRejected.With(keepRejected{Rejected: rows}).Exec(ctx, tx); err != nil {
			return err
		}
		found, err := k.sql.TrimRejected.With(trim).Query(ctx, tx)
		if err != nil {
			return err
		}
		left = nil
		var c content
		_, err = pgx.ForEachRow(found, []any{&c.source, &c.known, &c.rows, &c.bytes}, func() error {
			left = append(left, c)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep refused deliveries: %w", err)
	}
	return left, nil
}

func rowsOf(batch []*pending, key []byte) ([]rejectedRow, error) {
	rows := make([]rejectedRow, len(batch))
	for i, p := range batch {
		secrets, err := secretsJSON(p.sealedSecrets(key))
		if err != nil {
			return nil, err
		}
		rows[i] = rejectedRow{
			RejectionID: p.id, Source: p.Source, SecondsAgo: max(time.Since(p.arrived).Seconds(), 0),
			Reason: p.Reason, Detail: p.Detail, Known: p.known, Method: p.Method, Host: p.Host, Secure: p.Secure, Target: p.Target,
			Headers: p.headers, Secrets: secrets, Body: p.Body, Bytes: p.size,
		}
		if p.From.IsValid() {
			rows[i].Address = p.From.String()
		}
	}
	slices.SortFunc(rows, func(a, b rejectedRow) int { return cmp.Compare(a.RejectionID.String(), b.RejectionID.String()) })
	return rows, nil
}

type tidyAddresses struct{ AddressesOfSource int }

// tidy deletes expired deliveries and addresses, and the addresses beyond maxAddresses, of all
// sources.
func (k *Keeper) tidy(ctx context.Context, tx pgx.Tx) error {
	if _, err := k.sql.ExpireRejected.Exec(ctx, tx); err != nil {
		return err
	}
	_, err := k.sql.TidyAddresses.With(tidyAddresses{AddressesOfSource: maxAddresses}).Exec(ctx, tx)
	return err
}
