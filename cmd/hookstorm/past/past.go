// Package past inserts rows that are years old into a run's database. Retention then has expired
// rows to delete while the run adds new ones.
package past

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// Source is the source of all past events. No sender delivers them.
const Source = "past"

// Reserved is the largest accept_seq of past events. Events accepted in a run have larger ones.
const Reserved = 1_000_000

// Bounds of one retention run. After a slice, retention pauses for up to six times as long as the
// slice took. Each run starts again with all past rows. endLimit gives the last runs enough time to
// finish.
const (
	roundLimit = 10 * time.Second
	endLimit   = time.Minute
)

//go:embed prepare.sql
var prepareSQL string

//go:embed role.sql
var roleSQL string

//go:embed again.sql
var againSQL string

//go:embed left.sql
var leftSQL string

// Prepare creates the objects that Past needs in a migrated database that has a schema torture and
// no events. The pool must connect as the owner of the tables.
func Prepare(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, prepareSQL); err != nil {
		return fmt.Errorf("prepare the past: %w", err)
	}
	return nil
}

// Role is a role that may run retention but owns nothing. MakeRole creates it.
const Role = "hookstorm_keeper"

// MakeRole creates Role. The pool's role must have the rights to do so.
func MakeRole(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, roleSQL); err != nil {
		return fmt.Errorf("create the role of retention: %w", err)
	}
	return nil
}

// Past creates past days and makes retention delete them.
type Past struct {
	pool    *pgxpool.Pool
	keepers []*retention.Keeper
	rounds  int
}

// New returns a Past. The keepers take turns. A keeper's way to drop days depends on whether its
// role owns the tables. pool and the keepers' pools connect to a prepared database.
func New(pool *pgxpool.Pool, keepers ...*retention.Keeper) *Past {
	return &Past{pool: pool, keepers: keepers}
}

// Round creates a day, unless eight exist, and ends the unfinished events of the past except the
// newest two. Then it runs retention over the whole past, and approves the deletion as an operator
// does. Other processes may do the same simultaneously.
func (p *Past) Round(ctx context.Context, by ledger.Operator) error {
	if _, err := p.pool.Exec(ctx, `SELECT torture.make_past(), torture.end_past(2)`); err != nil {
		return fmt.Errorf("make a day of the past: %w", err)
	}
	return p.keep(ctx, by, roundLimit)
}

// keep runs retention twice, because the first run stops where it needs an operator's approval.
func (p *Past) keep(ctx context.Context, by ledger.Operator, limit time.Duration) error {
	keeper := p.keepers[p.rounds%len(p.keepers)]
	p.rounds++
	if _, err := p.pool.Exec(ctx, againSQL); err != nil {
		return fmt.Errorf("start over with the past: %w", err)
	}
	for _, approved := range []*ledger.Operator{nil, &by} {
		_, err := keeper.Run(ctx, retention.Order{Approved: approved, Until: time.Now().Add(limit)})
		if err != nil && !errors.Is(err, retention.ErrBusy) {
			return err
		}
	}
	return nil
}

// End makes retention delete all past rows. If ctx is done first, it returns an error that lists
// some of the remaining rows.
func (p *Past) End(ctx context.Context, by ledger.Operator) error {
	var left []string
	var err error
	for range (retry.Pauses{First: 200 * time.Millisecond}).Until(ctx) {
		if left, err = p.end(ctx, by); err == nil && len(left) == 0 {
			return nil
		}
	}
	return fmt.Errorf("rows of the past remain: %s: %w", strings.Join(left, ", "), errors.Join(err, context.Cause(ctx)))
}

func (p *Past) end(ctx context.Context, by ledger.Operator) (left []string, err error) {
	if _, err := p.pool.Exec(ctx, `SELECT torture.end_past(0)`); err != nil {
		return nil, fmt.Errorf("end unfinished work of the past: %w", err)
	}
	if err := p.keep(ctx, by, endLimit); err != nil {
		return nil, err
	}
	rows, err := p.pool.Query(ctx, leftSQL)
	if err != nil {
		return nil, fmt.Errorf("look for remaining rows of the past: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
