// Package schema is responsible for our tables and River's: the numbered
// migrations that make them and the name of the Postgres schema they live in.
package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivermigrate"
)

// DaysAhead is how many days after today have a partition of deliveries after
// Up and after each round of upkeep.
const DaysAhead = 14

// Owners of a Step.
const (
	OwnerHooklatch = "hooklatch"
	OwnerRiver     = "river"
)

// SQLSTATEs that Up and Down tell apart.
const (
	codeLockTimeout     = "55P03" // lock_not_available
	codeUnsafeEnumValue = "55P04" // unsafe_new_enum_value_usage
	codeStillInUse      = "2BP01" // dependent_objects_still_exist
)

// Migrator brings the schema of a database up, down, or tells its state.
type Migrator struct {
	pool       *pgxpool.Pool
	name       Name
	logger     *slog.Logger
	migrations []migration
	river      *rivermigrate.Migrator[pgx.Tx]
}

// Step is one migration that was applied or removed.
type Step struct {
	Owner     string        `json:"owner"` // OwnerHooklatch or OwnerRiver
	Version   int           `json:"version"`
	Name      string        `json:"name"`
	Direction string        `json:"direction"` // "up" or "down"
	Duration  time.Duration `json:"duration"`
}

// NewMigrator returns a migrator for the schema name, Default when empty. A nil
// logger logs nothing.
func NewMigrator(pool *pgxpool.Pool, name Name, logger *slog.Logger) (*Migrator, error) {
	name = name.OrDefault()
	if err := name.Validate(); err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	migrations, err := readMigrations(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	river, err := newRiver(name)
	if err != nil {
		return nil, fmt.Errorf("River's migrations: %w", err)
	}
	return &Migrator{pool: pool, name: name, logger: logger, migrations: migrations, river: river}, nil
}

// Up applies what is pending, River's migrations first, and makes the
// partitions of the next DaysAhead days. It may run in many processes at once:
// the first does the work, the others find it done.
//
// All of it is one transaction. Only where Postgres refuses that (before
// version 17 a value added to an enum may not be used in the same transaction,
// which River's first migrations do) are River's migrations committed one by
// one before ours; after an error the next Up goes on where this one ended.
func (m *Migrator) Up(ctx context.Context) ([]Step, error) {
	steps, err := m.upTogether(ctx)
	if codeOf(err) == codeUnsafeEnumValue {
		steps, err = m.upRiverFirst(ctx)
		if err == nil {
			var rest []Step
			rest, err = m.upTogether(ctx)
			steps = append(steps, rest...)
		}
	}
	m.log(ctx, steps)
	if err != nil {
		return steps, fmt.Errorf("migrate up: %w", m.explain(err))
	}
	return steps, nil
}

func (m *Migrator) upTogether(ctx context.Context) ([]Step, error) {
	var steps []Step
	err := m.locked(ctx, func(tx pgx.Tx) error {
		if err := m.createSchema(ctx, tx); err != nil {
			return err
		}
		river, err := m.upRiver(ctx, tx, m.wantedRiver())
		if err != nil {
			return err
		}
		ours, err := m.upOurs(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, m.name.query("partitions_make"), DaysAhead); err != nil {
			return fmt.Errorf("make partitions: %w", err)
		}
		steps = append(river, ours...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return steps, nil
}

// upRiverFirst commits River's pending migrations one by one.
func (m *Migrator) upRiverFirst(ctx context.Context) ([]Step, error) {
	var steps []Step
	for _, version := range m.river.AllVersions() {
		var step []Step
		err := m.locked(ctx, func(tx pgx.Tx) error {
			if err := m.createSchema(ctx, tx); err != nil {
				return err
			}
			var err error
			step, err = m.upRiver(ctx, tx, version.Version)
			return err
		})
		if err != nil {
			return steps, err
		}
		steps = append(steps, step...)
	}
	return steps, nil
}

func (m *Migrator) upOurs(ctx context.Context, tx pgx.Tx) ([]Step, error) {
	if _, err := tx.Exec(ctx, m.name.query("history_create")); err != nil {
		return nil, fmt.Errorf("create table of migrations: %w", err)
	}
	applied, err := m.history(ctx, tx)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, migration := range m.migrations {
		if done, ok := applied[migration.version]; ok {
			if done.checksum != migration.checksum {
				m.logger.WarnContext(ctx, "applied migration differs from the one in this program", slog.String("migration", migration.String()))
			}
			continue
		}
		start := time.Now()
		if _, err := tx.Exec(ctx, m.name.SQL(migration.up)); err != nil {
			return nil, fmt.Errorf("%s: %w", migration, err)
		}
		if _, err := tx.Exec(ctx, m.name.query("history_add"), migration.version, migration.name, migration.checksum); err != nil {
			return nil, fmt.Errorf("record %s: %w", migration, err)
		}
		steps = append(steps, Step{OwnerHooklatch, migration.version, migration.name, "up", time.Since(start)})
	}
	return steps, nil
}

// Down removes the newest steps of our migrations, with all their data. With
// steps <= 0 it removes all of ours, River's, and the schema if nothing else is
// in it. It is one transaction. It refuses a database that has migrations this
// program does not know.
func (m *Migrator) Down(ctx context.Context, steps int) ([]Step, error) {
	var done []Step
	err := m.locked(ctx, func(tx pgx.Tx) error {
		done = nil
		exists, err := m.ask(ctx, tx, "history_exists")
		if err != nil {
			return err
		}
		if exists {
			if done, err = m.downOurs(ctx, tx, steps); err != nil {
				return err
			}
		}
		if steps > 0 {
			return nil
		}
		if exists {
			if _, err := tx.Exec(ctx, m.name.query("history_drop")); err != nil {
				return fmt.Errorf("drop table of migrations: %w", err)
			}
		}
		river, err := m.downRiver(ctx, tx)
		if err != nil {
			return err
		}
		done = append(done, river...)
		return m.dropSchema(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("migrate down: %w", m.explain(err))
	}
	m.log(ctx, done)
	return done, nil
}

func (m *Migrator) downOurs(ctx context.Context, tx pgx.Tx, steps int) ([]Step, error) {
	applied, err := m.history(ctx, tx)
	if err != nil {
		return nil, err
	}
	for version, record := range applied {
		if version > len(m.migrations) {
			return nil, fmt.Errorf("the database has migration %04d_%s, which this program does not know: use the program that applied it", version, record.name)
		}
	}
	var done []Step
	for i := len(m.migrations) - 1; i >= 0 && (steps <= 0 || len(done) < steps); i-- {
		migration := m.migrations[i]
		if _, ok := applied[migration.version]; !ok {
			continue
		}
		start := time.Now()
		if _, err := tx.Exec(ctx, m.name.SQL(migration.down)); err != nil {
			return nil, fmt.Errorf("%s: %w", migration, err)
		}
		if _, err := tx.Exec(ctx, m.name.query("history_remove"), migration.version); err != nil {
			return nil, fmt.Errorf("forget %s: %w", migration, err)
		}
		done = append(done, Step{OwnerHooklatch, migration.version, migration.name, "down", time.Since(start)})
	}
	return done, nil
}

// locked runs fn in a transaction that has the database's migrations to itself.
func (m *Migrator) locked(ctx context.Context, fn func(tx pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, m.pool, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.name.query("lock")); err != nil {
			return fmt.Errorf("wait for another migration: %w", err)
		}
		if _, err := tx.Exec(ctx, m.name.query("session")); err != nil {
			return fmt.Errorf("set time-outs: %w", err)
		}
		return fn(tx)
	})
}

// createSchema makes the schema unless an administrator did: IF NOT EXISTS
// would ask for the right to create one even then.
func (m *Migrator) createSchema(ctx context.Context, tx pgx.Tx) error {
	exists, err := m.schemaExists(ctx, tx)
	if err != nil || exists {
		return err
	}
	// A valid Name needs no quotes.
	if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+string(m.name)); err != nil {
		return fmt.Errorf("create schema %s: %w", m.name, err)
	}
	return nil
}

// dropSchema drops the schema unless somebody else has something in it.
func (m *Migrator) dropSchema(ctx context.Context, tx pgx.Tx) error {
	exists, err := m.schemaExists(ctx, tx)
	if err != nil || !exists || m.name == "public" {
		return err
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DROP SCHEMA "+string(m.name))
		return err
	})
	if err != nil && codeOf(err) != codeStillInUse {
		return fmt.Errorf("drop schema %s: %w", m.name, err)
	}
	return nil
}

func (m *Migrator) log(ctx context.Context, steps []Step) {
	for _, step := range steps {
		m.logger.InfoContext(ctx, "migrated "+step.Direction,
			slog.String("migration", fmt.Sprintf("%s %04d_%s", step.Owner, step.Version, step.Name)),
			slog.Duration("duration", step.Duration))
	}
}

// explain adds what to do about errors that have a usual cause.
func (m *Migrator) explain(err error) error {
	if codeOf(err) == codeLockTimeout {
		return fmt.Errorf("a table was in use for more than 10 s, so that this transaction gave up to not hold up everybody else; run it again when no long transaction or backup is running: %w", err)
	}
	return err
}

func codeOf(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}
