// Package schema migrates our tables and River's. It contains the numbered migrations, and checks
// the name of the Postgres schema that contains the tables.
package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivermigrate"
)

// DaysAhead is the number of days after today for which Up creates the partitions of the daily
// tables, such as deliveries. Workers later keep the same number of days ahead.
const DaysAhead = 14

// Values of Step.Owner.
const (
	OwnerHooklatch = "hooklatch"
	OwnerRiver     = "river"
)

// SQLSTATE codes that Up and Down handle specially.
const (
	codeLockTimeout = "55P03" // lock_not_available
	codeDeadlock    = "40P01" // deadlock_detected
	codeStillInUse  = "2BP01" // dependent_objects_still_exist
	codeMayNot      = "42501" // insufficient_privilege
)

// Migrator applies and reverts migrations in one schema of a database, and reports its state.
type Migrator struct {
	pool       *pgxpool.Pool
	name       Name
	sql        statements
	logger     *slog.Logger
	migrations []migration
	river      *rivermigrate.Migrator[pgx.Tx]

	patience time.Duration // maximum time for all tries at one migration
}

// A migration waits only briefly for a table in use, because all later users of the table,
// including deliveries, wait behind the migration. It tries again after these users have had their
// turn.
const (
	lockTimeout  = 100 * time.Millisecond
	betweenTries = 400 * time.Millisecond
	patience     = time.Minute
)

// Step is one migration that was applied or reverted.
type Step struct {
	Owner     string        `json:"owner"` // OwnerHooklatch or OwnerRiver
	Version   int           `json:"version"`
	Name      string        `json:"name"`
	Direction string        `json:"direction"` // "up" or "down"
	Duration  time.Duration `json:"duration"`
}

// NewMigrator returns a migrator for the schema with this name, or Default if the name is empty. A
// nil logger logs nothing.
func NewMigrator(pool *pgxpool.Pool, name Name, logger *slog.Logger) (*Migrator, error) {
	name = name.OrDefault()
	if err := name.Validate(); err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	sql, err := loadStatements(name)
	if err != nil {
		return nil, err
	}
	migrations, err := readMigrations(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	river, err := newRiver(name)
	if err != nil {
		return nil, fmt.Errorf("River's migrations: %w", err)
	}
	return &Migrator{pool: pool, name: name, sql: sql, logger: logger, migrations: migrations, river: river, patience: patience}, nil
}

// locked runs fn in a transaction that holds the migration lock, and tries again if a table is
// in use.
func (m *Migrator) locked(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return m.untilFree(ctx, func() error { return m.once(ctx, fn) })
}

// untilFree repeats f while it fails because a table is in use, until m.patience has passed.
func (m *Migrator) untilFree(ctx context.Context, f func() error) error {
	for over := time.Now().Add(m.patience); ; {
		err := f()
		if code := codeOf(err); code != codeLockTimeout && code != codeDeadlock || time.Now().After(over) {
			return err
		}
		select {
		case <-time.After(betweenTries):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

func (m *Migrator) once(ctx context.Context, fn func(tx pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, m.pool, options, func(tx pgx.Tx) error {
		if err := m.setTimeouts(ctx, tx, 0); err != nil {
			return err
		}
		if _, err := m.sql.Lock.Exec(ctx, tx); err != nil {
			return fmt.Errorf("wait for another migration: %w", err)
		}
		if err := m.setTimeouts(ctx, tx, lockTimeout); err != nil {
			return err
		}
		return fn(tx)
	})
}

// setTimeouts replaces the role's timeouts, which are meant for an application. A lock timeout
// of 0 waits forever.
func (m *Migrator) setTimeouts(ctx context.Context, tx pgx.Tx, lock time.Duration) error {
	limits := timeouts{LockTimeout: strconv.FormatInt(lock.Milliseconds(), 10)}
	if _, err := m.sql.Timeouts.With(limits).Exec(ctx, tx); err != nil {
		return fmt.Errorf("set timeouts: %w", err)
	}
	return nil
}

func (m *Migrator) log(ctx context.Context, steps []Step) {
	for _, step := range steps {
		m.logger.InfoContext(ctx, "migrated "+step.Direction,
			slog.String("migration", fmt.Sprintf("%s %04d_%s", step.Owner, step.Version, step.Name)),
			slog.Float64("duration_s", step.Duration.Seconds()))
	}
}

// explain adds advice to errors with common causes.
func (m *Migrator) explain(err error) error {
	switch codeOf(err) {
	case codeMayNot:
		return fmt.Errorf("the role %s may not migrate schema %s; run `hooklatch migrate up` with the role that owns the schema, and remove database.migrate where a process uses another role: %w", m.pool.Config().ConnConfig.User, m.name, err)
	case codeLockTimeout:
		return fmt.Errorf("a table was in use at each attempt for %v, and waiting longer would block everything else that uses the table; run the migration again when no long transaction or backup is running: the migration continues where it stopped: %w", m.patience, err)
	}
	return err
}

func codeOf(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}
