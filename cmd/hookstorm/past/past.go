// Package past inserts rows that are years old into the database of a run. Retention
// deletes them beside all that is live.
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

// Source is that of all events of the past. Nobody delivers it.
const Source = "past"

// Reserved are the numbers that events of the past take, up to this one: events that
// are accepted in a run have higher ones.
const Reserved = 1_000_000

// Bounds of one run of retention. It rests six times as long as it works, and each run
// begins with all of the past anew: the last ones need the time to come to its end.
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

// Prepare makes what Past needs in a migrated database that has no event yet, with a
// schema torture. Its pool is the owner's.
func Prepare(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, prepareSQL); err != nil {
		return fmt.Errorf("prepare the past: %w", err)
	}
	return nil
}

// Role owns nothing, and may keep house: MakeRole makes it.
const Role = "hookstorm_keeper"

// MakeRole makes Role, and needs the rights to do so.
func MakeRole(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, roleSQL); err != nil {
		return fmt.Errorf("make the role of who keeps house: %w", err)
	}
	return nil
}

// Past makes days of the past, and has retention delete them.
type Past struct {
	pool    *pgxpool.Pool
	keepers []*retention.Keeper
	rounds  int
}

// New returns a Past. The keepers take turns: one of a role that owns the tables drops
// their days in another way than one of a role that does not. Their pools and pool
// lead to a database that was prepared.
func New(pool *pgxpool.Pool, keepers ...*retention.Keeper) *Past {
	return &Past{pool: pool, keepers: keepers}
}

// Round makes a day, unless many lie there, ends what was unfinished of the days before,
// and has retention delete it all, as a person would who finds that it waits. Others may
// do the same meanwhile.
func (p *Past) Round(ctx context.Context, by ledger.Operator) error {
	if _, err := p.pool.Exec(ctx, `SELECT torture.make_past(), torture.end_past(2)`); err != nil {
		return fmt.Errorf("make a day of the past: %w", err)
	}
	return p.keep(ctx, by, roundLimit)
}

// keep runs retention twice: the first run has to wait for a person.
func (p *Past) keep(ctx context.Context, by ledger.Operator, limit time.Duration) error {
	keeper := p.keepers[p.rounds%len(p.keepers)]
	p.rounds++
	if _, err := p.pool.Exec(ctx, againSQL); err != nil {
		return fmt.Errorf("begin with the past anew: %w", err)
	}
	for _, approved := range []*ledger.Operator{nil, &by} {
		_, err := keeper.Run(ctx, retention.Order{Approved: approved, Until: time.Now().Add(limit)})
		if err != nil && !errors.Is(err, retention.ErrBusy) {
			return err
		}
	}
	return nil
}

// End has retention delete all of the past, and returns what is left of it when ctx is
// done.
func (p *Past) End(ctx context.Context, by ledger.Operator) error {
	var left []string
	var err error
	for range (retry.Pauses{First: 200 * time.Millisecond}).Until(ctx) {
		if left, err = p.end(ctx, by); err == nil && len(left) == 0 {
			return nil
		}
	}
	return fmt.Errorf("left of the past: %s: %w", strings.Join(left, ", "), errors.Join(err, context.Cause(ctx)))
}

func (p *Past) end(ctx context.Context, by ledger.Operator) (left []string, err error) {
	if _, err := p.pool.Exec(ctx, `SELECT torture.end_past(0)`); err != nil {
		return nil, fmt.Errorf("end what is unfinished of the past: %w", err)
	}
	if err := p.keep(ctx, by, endLimit); err != nil {
		return nil, err
	}
	rows, err := p.pool.Query(ctx, leftSQL)
	if err != nil {
		return nil, fmt.Errorf("look what is left of the past: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
