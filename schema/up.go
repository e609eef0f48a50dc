package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// Up applies the pending migrations, River's first, and creates the partitions for the next
// DaysAhead days. It may run in many processes simultaneously: one process applies each migration,
// and the others find it applied.
//
// Each migration has a separate transaction, so that its locks end with it. In a single
// transaction, a lock that one migration needs for a moment would last until all later migrations
// are done. After an error, Up returns the steps that it has applied, and the next Up continues
// from there. At the end, Up builds indexes on large tables concurrently.
func (m *Migrator) Up(ctx context.Context) ([]Step, error) {
	var steps []Step
	for {
		next, err := m.upNext(ctx)
		if err != nil {
			return steps, fmt.Errorf("migrate up: %w", m.explain(err))
		}
		if len(next) == 0 {
			break
		}
		m.log(ctx, next)
		steps = append(steps, next...)
	}
	if err := errors.Join(m.makeWireKeyIndex(ctx), m.makeLateIndexes(ctx)); err != nil {
		return steps, fmt.Errorf("migrate up: %w", m.explain(err))
	}
	return steps, nil
}

// upNext applies the first pending migration, River's first, and returns its step, or nothing if
// none is pending. Unless the migration is River's, upNext also creates missing partitions.
func (m *Migrator) upNext(ctx context.Context) (step []Step, err error) {
	err = m.locked(ctx, func(tx pgx.Tx) error {
		if err := m.createSchema(ctx, tx); err != nil {
			return err
		}
		if step, err = m.upRiver(ctx, tx); err != nil || len(step) > 0 {
			return err
		}
		if step, err = m.upOurs(ctx, tx); err != nil {
			return err
		}
		if _, err := m.sql.PartitionsMake.With(partitionsMake{DaysAhead: DaysAhead}).Exec(ctx, tx); err != nil {
			return fmt.Errorf("make partitions: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return step, nil
}

// upOurs applies our first pending migration, if any.
func (m *Migrator) upOurs(ctx context.Context, tx pgx.Tx) ([]Step, error) {
	if _, err := m.sql.HistoryCreate.Exec(ctx, tx); err != nil {
		return nil, fmt.Errorf("create table of migrations: %w", err)
	}
	applied, err := m.history(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, migration := range m.migrations {
		if _, ok := applied[migration.version]; ok {
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
		return []Step{{OwnerHooklatch, migration.version, migration.name, "up", time.Since(start)}}, nil
	}
	for _, migration := range m.migrations {
		if applied[migration.version].checksum != migration.checksum {
			m.logger.WarnContext(ctx, "applied migration differs from the migration in this program", slog.String("migration", migration.String()))
		}
	}
	return nil, nil
}

// createSchema creates the schema unless an administrator has already created it. CREATE SCHEMA IF
// NOT EXISTS would require the right to create schemas even if the schema exists.
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
