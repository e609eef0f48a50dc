package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Down removes the newest steps of our migrations, with all their data. With
// steps <= 0 it removes all of ours, River's, and the schema if nothing else is
// in it. It is one transaction. It refuses a database that has migrations this
// program does not know.
func (m *Migrator) Down(ctx context.Context, steps int) ([]Step, error) {
	var done []Step
	err := m.locked(ctx, func(tx pgx.Tx) error {
		done = nil
		exists, err := m.ask(ctx, tx, m.sql.HistoryExists)
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
			if _, err := m.sql.HistoryDrop.Exec(ctx, tx); err != nil {
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
		if _, err := m.sql.HistoryRemove.With(historyRemove{Version: migration.version}).Exec(ctx, tx); err != nil {
			return nil, fmt.Errorf("forget %s: %w", migration, err)
		}
		done = append(done, Step{OwnerHooklatch, migration.version, migration.name, "down", time.Since(start)})
	}
	return done, nil
}

// dropSchema drops the schema unless it holds something that is not ours.
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
