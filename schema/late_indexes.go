package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/statement"
)

// makeLateIndexes builds the indexes by which retention finds events that operators may still need,
// and by which operators find work that needs attention. Without these indexes, both searches would
// read whole tables. If another process is building indexes, makeLateIndexes leaves the missing
// ones to that process.
func (m *Migrator) makeLateIndexes(ctx context.Context) error {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("late indexes: %w", err)
	}
	defer conn.Release()
	for _, index := range []struct {
		name string
		make statement.Bound
	}{
		{"processed_events_put_aside", m.sql.PutAsideEvents},
		{"effects_put_aside", m.sql.PutAsideEffects},
		{"effects_aside", m.sql.AsideEffects},
	} {
		stands, err := m.putAsideStands(ctx, conn, index.name)
		if err == nil && !stands {
			err = m.alone(ctx, conn, func() error { return m.makeOnce(ctx, conn, index.name, index.make) })
		}
		if err != nil {
			return fmt.Errorf("late indexes: %w", err)
		}
	}
	return nil
}

// makeOnce builds an index, unless another process has built it meanwhile. It first drops an index
// that was only partly built.
func (m *Migrator) makeOnce(ctx context.Context, conn *pgxpool.Conn, name string, build statement.Bound) error {
	if stands, err := m.putAsideStands(ctx, conn, name); err != nil || stands {
		return err
	}
	if err := m.inSession(ctx, conn, 0); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+string(m.name)+"."+name); err != nil {
		return fmt.Errorf("drop index %s: %w", name, err)
	}
	return m.inSession(ctx, conn, 0, build)
}

func (m *Migrator) putAsideStands(ctx context.Context, conn *pgxpool.Conn, name string) (bool, error) {
	return m.ask(ctx, conn, m.sql.PutAsideStands.With(putAsideStands{Name: name}))
}
