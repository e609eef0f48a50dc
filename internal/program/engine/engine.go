// Package engine tests whether a database server can do everything that Hooklatch needs, in a
// separate schema. It tests behaviour and ignores version numbers: it tries each capability in a
// small experiment with one to three sessions. The package therefore also finds a server or pooler
// that accepts a statement and does something else.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// Patience is the maximum time of a Check.
	Patience = 10 * time.Minute
	// patienceForOne is the maximum time of an experiment without Hooklatch's tables.
	patienceForOne = 15 * time.Second
	// patienceForMigrations is the maximum time of an experiment with Hooklatch's tables.
	patienceForMigrations = 3 * time.Minute
)

// unsuitable is the advice about a missing capability without a substitute.
const unsuitable = "use PostgreSQL 15 or newer: Hooklatch cannot work on this server"

// busy is the advice about an experiment that took too long.
const busy = "run the check again with an empty database on an idle server: this experiment may have waited for a long transaction"

// Check tries every capability. A Problem names a missing capability without which Hooklatch cannot
// work. A Warning names a missing capability that has a substitute; its Fix names the substitute.
// Check creates a schema and drops it, even if ctx is done. Its error says why the experiments
// could not begin or finish, or why the schema could not be dropped. The pool needs two
// connections; an experiment opens up to three more.
func Check(ctx context.Context, pool *pgxpool.Pool) ([]doctor.Finding, error) {
	return check(ctx, pool, capabilities())
}

func check(ctx context.Context, pool *pgxpool.Pool, wanted []capability) (found []doctor.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	between, err := doctor.Pooler(ctx, pool)
	if _, answered := sqlstate.Of(err); err != nil && !answered {
		return nil, err
	} else if answered {
		between = doctor.Finding{Level: doctor.Warning, Check: "pooler", Message: err.Error(), Fix: "make sure that no pooler is in between"}
	}
	pooled := between.Level == doctor.Problem
	if pooled {
		between.Level = doctor.Warning
	}
	name, err := create(ctx, pool)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop(ctx, pool, name)) }()
	found = append([]doctor.Finding{between}, settings(ctx, pool, name)...)
	for _, one := range wanted {
		if one.own && pooled {
			found = append(found, doctor.Finding{
				Level: doctor.Warning, Check: one.name, Message: "not tried: the migrations do not work through this pooler",
				Fix: "run the check again with an address that bypasses the pooler",
			})
			continue
		}
		failed := one.tryOn(ctx, pool, name)
		if ctx.Err() != nil {
			return found, fmt.Errorf("the check did not finish: %w", ctx.Err())
		}
		found = append(found, one.finding(failed))
	}
	return found, nil
}

// settings returns the findings about the server's durability and data. It omits findings about the
// version, Hooklatch's tables and the current load.
func settings(ctx context.Context, pool *pgxpool.Pool, name schema.Name) []doctor.Finding {
	found, err := doctor.Server(ctx, pool, doctor.ServerOptions{Schema: name})
	if err != nil {
		return []doctor.Finding{{
			Level: doctor.Warning, Check: "settings", Message: err.Error() + "; without this, the durability of a commit is unknown",
			Fix: "see the server's documentation for the failures that a commit survives",
		}}
	}
	return slices.DeleteFunc(found, func(f doctor.Finding) bool {
		return slices.Contains([]string{"version", "connections", "snapshot", "dead_jobs"}, f.Check)
	})
}

// tryOn runs the experiment. It returns a description of any unexpected behaviour of the server.
func (c capability) tryOn(ctx context.Context, pool *pgxpool.Pool, name schema.Name) error {
	patience := patienceForOne
	if c.own {
		patience = patienceForMigrations
	}
	t := &trial{ctx: ctx, pool: pool, schema: name}
	return t.run(patience, c.try)
}

// finding describes the result of the experiment.
func (c capability) finding(failed error) doctor.Finding {
	if failed == nil {
		return doctor.Finding{Level: doctor.OK, Check: c.name, Message: c.works}
	}
	found := doctor.Finding{
		Level: doctor.Problem, Check: c.name, Fix: unsuitable,
		Message: fmt.Sprintf("%s; without this, %s", failed, c.without),
	}
	if c.substitute != "" {
		found.Level, found.Fix = doctor.Warning, "optional: "+c.substitute
	}
	if errors.Is(failed, context.DeadlineExceeded) {
		found.Message, found.Fix = "no result in time; without this, "+c.without, busy
	}
	return found
}
