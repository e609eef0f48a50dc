package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Up applies what is pending, River's migrations first, and makes the
// partitions of the next DaysAhead days. It may run in many processes at once:
// the first does the work, the others find it done.
//
// All of it is one transaction. Only where Postgres refuses that (before
// version 17 a value added to an enum may not be used in the same transaction,
// which River's first migrations do) are River's migrations committed one by
// one before ours; after an error the next Up goes on where this one ended. Indexes
// of large tables are built after it, concurrently.
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
	if err == nil {
		err = errors.Join(m.makeWireKeyIndex(ctx), m.makeLateIndexes(ctx))
	}
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
		if _, err := m.sql.PartitionsMake.With(partitionsMake{DaysAhead: DaysAhead}).Exec(ctx, tx); err != nil {
			return fmt.Errorf("make partitions: %w", err)
		}
		steps = slices.Concat(river, ours)
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
	if _, err := m.sql.HistoryCreate.Exec(ctx, tx); err != nil {
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
		record := historyAdd{Version: migration.version, Name: migration.name, Checksum: migration.checksum}
		if _, err := m.sql.HistoryAdd.With(record).Exec(ctx, tx); err != nil {
			return nil, fmt.Errorf("record %s: %w", migration, err)
		}
		steps = append(steps, Step{OwnerHooklatch, migration.version, migration.name, "up", time.Since(start)})
	}
	return steps, nil
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
