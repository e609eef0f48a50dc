package schema

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Down reverts our newest migrations and deletes their data. The parameter steps is the maximum
// number of migrations to revert. If steps is 0 or negative, Down reverts all our migrations and
// River's, and drops the schema, unless the schema is public or contains other objects. Like Up, it
// handles each of our migrations in a separate transaction. It refuses a database with migrations
// that this program does not know.
func (m *Migrator) Down(ctx context.Context, steps int) ([]Step, error) {
	var done []Step
	for steps <= 0 || len(done) < steps {
		next, err := m.downNext(ctx)
		if err != nil {
			return done, fmt.Errorf("migrate down: %w", m.explain(err))
		}
		if len(next) == 0 {
			break
		}
		m.log(ctx, next)
		done = append(done, next...)
	}
	if steps > 0 {
		return done, nil
	}
	river, err := m.downRest(ctx)
	if err != nil {
		return done, fmt.Errorf("migrate down: %w", m.explain(err))
	}
	m.log(ctx, river)
	return append(done, river...), nil
}

// downNext reverts our newest applied migration, and returns its step, or nothing if none is
// applied.
func (m *Migrator) downNext(ctx context.Context) (step []Step, err error) {
	err = m.locked(ctx, func(tx pgx.Tx) error {
		step = nil
		exists, err := m.ask(ctx, tx, m.sql.HistoryExists)
		if err == nil && exists {
			step, err = m.downOurs(ctx, tx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return step, nil
}

// downRest removes what remains after our migrations: their history, River's tables and
// the schema.
func (m *Migrator) downRest(ctx context.Context) (river []Step, err error) {
	err = m.locked(ctx, func(tx pgx.Tx) error {
		if _, err := m.sql.HistoryDrop.Exec(ctx, tx); err != nil {
			return fmt.Errorf("drop table of migrations: %w", err)
		}
		if river, err = m.downRiver(ctx, tx); err != nil {
			return err
		}
		return m.dropSchema(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	return river, nil
}

func (m *Migrator) downOurs(ctx context.Context, tx pgx.Tx) ([]Step, error) {
	applied, err := m.history(ctx, tx)
	if err != nil {
		return nil, err
	}
	for version, record := range applied {
		if version > len(m.migrations) {
			return nil, fmt.Errorf("the database has migration %04d_%s, which this program does not know: use the version that applied the migration", version, record.name)
		}
	}
	for _, migration := range slices.Backward(m.migrations) {
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
		return []Step{{OwnerHooklatch, migration.version, migration.name, "down", time.Since(start)}}, nil
	}
	return nil, nil
}

// dropSchema drops the schema unless it is public or contains other objects.
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
