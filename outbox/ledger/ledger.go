package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Ledger.
type Options struct {
	// DB commits claims, settlements and operator actions, and runs effects in the same
	// Postgres (RunTx). Required.
	DB *commit.DB
	// ReadPool serves the lists and counts shown to operators, from the same database.
	// Required.
	ReadPool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Jobs inserts the jobs of effects. Required.
	Jobs *riverjob.Inserter
	// Committers is the maximum number of simultaneous group commits of one kind, each on its own
	// connection of the pool. Defaults to 2.
	Committers int
	// Patience is how long one batch must be in flight before another starts: see
	// commit.GroupOptions. Zero: another batch starts immediately.
	Patience time.Duration
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Ledger records every effect and its attempts. It is safe for concurrent use.
type Ledger struct {
	db     *commit.DB
	read   *pgxpool.Pool
	sql    statements
	jobs   *riverjob.Inserter
	logger *slog.Logger

	claims      *commit.Group[Claim, *Claimed]
	settlements *commit.Group[*Settlement, Settled]
	unanswered  *unanswered
	deliveries  *ondemand.Reader[identity.EventRef, deliveryOf]
}

// New returns a Ledger on a migrated database. It starts nothing.
func New(opts Options) (*Ledger, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Jobs == nil {
		return nil, errors.New("ledger options: DB, ReadPool and Jobs are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{
		db:     opts.DB,
		read:   opts.ReadPool,
		sql:    sql,
		jobs:   opts.Jobs,
		logger: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)),
	}
	l.deliveries = ondemand.NewReader(l.deliveriesOf)
	l.unanswered = newUnanswered(l.takeBack, l.logger)
	l.claims = commit.NewGroup(l.db, "claim", commit.GroupOptions[Claim, *Claimed]{
		Run: l.claimBatch, Unheard: l.unanswered.add, Committers: opts.Committers, Patience: opts.Patience,
	})
	l.settlements = commit.NewGroup(l.db, "settle", commit.GroupOptions[*Settlement, Settled]{
		Run: l.settleBatch, Committers: opts.Committers, Patience: opts.Patience,
	})
	return l, nil
}

// Stop refuses new work and waits until everything submitted is committed or has failed, or ctx is
// done. It may be called again.
func (l *Ledger) Stop(ctx context.Context) error {
	return errors.Join(l.claims.Stop(ctx), l.unanswered.stop(ctx), l.settlements.Stop(ctx))
}
