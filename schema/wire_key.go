package schema

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/statement"
)

// makeWireKeyIndex replaces the unique index on the effects' idempotency keys with an index that
// begins with the hour and is not unique. Building an index in a transaction would block writers
// meanwhile, so the new index is built concurrently, once the tables exist. The next Up restarts an
// interrupted build. If another process is building indexes, makeWireKeyIndex does nothing.
func (m *Migrator) makeWireKeyIndex(ctx context.Context) error {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("index of wire keys: %w", err)
	}
	defer conn.Release()
	if err := m.replaceWireKeyIndex(ctx, conn); err != nil {
		return fmt.Errorf("index of wire keys: %w", err)
	}
	return nil
}

func (m *Migrator) replaceWireKeyIndex(ctx context.Context, conn *pgxpool.Conn) error {
	stands, err := m.ask(ctx, conn, m.sql.WireKeyStands)
	if err != nil {
		return err
	}
	unique, err := m.ask(ctx, conn, m.sql.WireKeyWasUnique)
	if err != nil || stands && !unique {
		return err
	}
	return m.alone(ctx, conn, func() error {
		stands, err := m.ask(ctx, conn, m.sql.WireKeyStands)
		if err != nil {
			return err
		}
		if !stands {
			if err := m.inSession(ctx, conn, 0, m.sql.WireKeyDrop, m.sql.WireKeyMake); err != nil {
				return err
			}
		}
		return m.untilFree(ctx, func() error { return m.inSession(ctx, conn, lockTimeout, m.sql.WireKeyNotUnique) })
	})
}

// alone runs f unless another process is building indexes.
func (m *Migrator) alone(ctx context.Context, conn *pgxpool.Conn, f func() error) error {
	alone, err := m.ask(ctx, conn, m.sql.WireKeyLock)
	if err != nil || !alone {
		return err
	}
	// A session that cannot be reset must not return to the pool. The end of the session releases its
	// lock.
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, failed := m.sql.WireKeyUnlock.Exec(ctx, conn)
		if _, err := conn.Exec(ctx, "RESET ALL"); err != nil || failed != nil {
			_ = conn.Conn().Close(ctx)
		}
	}()
	return f()
}

// inSession sets the session's timeouts, then runs steps outside any transaction. A lock timeout of
// 0 waits forever.
func (m *Migrator) inSession(ctx context.Context, conn *pgxpool.Conn, lock time.Duration, steps ...statement.Bound) error {
	limits := sessionTimeouts{LockTimeout: strconv.FormatInt(lock.Milliseconds(), 10)}
	if _, err := m.sql.SessionTimeouts.With(limits).Exec(ctx, conn); err != nil {
		return fmt.Errorf("set timeouts: %w", err)
	}
	for _, step := range steps {
		if _, err := step.Exec(ctx, conn); err != nil {
			return fmt.Errorf("%s: %w", step.Name(), err)
		}
	}
	return nil
}
