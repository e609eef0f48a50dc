package schema_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// oldest is the migration whose schema these tests upgrade. Programs of that time already used
// processed_events and effects.
const oldest = 8

// deliver stores a delivery with the rows that all programs since oldest write for it.
func deliver(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			WITH delivery AS (
				INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
				VALUES (gen_random_uuid(), 'shop', '{}', 'application/json', '{}')
				RETURNING delivery_id
			), job AS (
				INSERT INTO hooklatch.river_job (kind, queue, args, max_attempts, state) VALUES ('dispatch', 'dispatch', '{}', 25, 'available')
			)
			INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue)
			SELECT 'shop', gen_random_uuid(), nextval('hooklatch.accept_seq'), gen_random_uuid(), 'hmac', 'order', d.delivery_id, 'hash', 'dispatch'
			FROM delivery AS d`)
		return err
	})
}

// A lock that one migration needs for a moment ends with that migration. A migration waits for a
// table in use only briefly at a time. Deliveries therefore continue while a migration waits, even
// for processed_events, to which each delivery adds a row.
func TestDeliveriesGoOnWhileAMigrationWaits(t *testing.T) {
	t.Parallel()
	for table, mode := range map[string]string{"effects": "ROW EXCLUSIVE", "processed_events": "ACCESS SHARE"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			migrator := newMigrator(t, pool, "")
			status, err := migrator.Status(t.Context())
			require.NoError(t, err)
			_, err = migrator.Down(t.Context(), len(status.Migrations)-oldest)
			require.NoError(t, err)

			user, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer user.Rollback(t.Context())
			_, err = user.Exec(t.Context(), "LOCK TABLE hooklatch."+table+" IN "+mode+" MODE")
			require.NoError(t, err)
			migrated := make(chan error, 1)
			go func() {
				_, err := migrator.Up(context.WithoutCancel(t.Context()))
				migrated <- err
			}()
			require.Eventually(t, func() bool {
				return count(t, pool, "SELECT count(*) FROM pg_locks WHERE relation = $1::regclass AND NOT granted", "hooklatch."+table) > 0
			}, time.Minute, 5*time.Millisecond)
			for range 20 {
				require.NoError(t, deliver(t.Context(), pool))
			}
			require.Empty(t, migrated, "the migration still waits")
			require.NoError(t, user.Rollback(t.Context()))
			require.NoError(t, <-migrated)
			require.NoError(t, migrator.Validate(t.Context()))
		})
	}
}

// No delivery waits long while large tables are upgraded and downgraded during a long read.
func TestUpgradesLetDeliveriesPass(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKLATCH_LONG") == "" {
		t.Skip("set HOOKLATCH_LONG=1: the test measures how long deliveries wait")
	}
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	down := len(status.Migrations) - oldest
	_, err = migrator.Down(t.Context(), down)
	require.NoError(t, err)
	run(t, pool, `
		INSERT INTO hooklatch.processed_events
			(source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome)
		SELECT 'shop', 'of-before-' || i, nextval('hooklatch.accept_seq'), gen_random_uuid(), 'hmac', 'order', gen_random_uuid(), 'hash', 'dispatch', 'dispatched'
		FROM generate_series(1, 200000) AS i`)
	run(t, pool, "ALTER TABLE hooklatch.effects DISABLE TRIGGER USER")
	run(t, pool, `
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, source, event_id, accept_seq, state)
		SELECT 'shop', 'of-before-' || i, 'hl_' || i, 'app', 'dst_app', 'at_least_once', 'shop', 'of-before-' || i, 0 + i, CASE WHEN i % 10 = 0 THEN 'pending' ELSE 'done' END
		FROM generate_series(1, 200000) AS i`)
	run(t, pool, "ALTER TABLE hooklatch.effects ENABLE TRIGGER USER")

	over, end := context.WithCancel(t.Context())
	var waits []time.Duration
	delivered := make(chan error, 1)
	go func() {
		for ticker := time.NewTicker(50 * time.Millisecond); ; {
			began := time.Now()
			if err := deliver(t.Context(), pool); err != nil {
				delivered <- err
				return
			}
			waits = append(waits, time.Since(began))
			select {
			case <-ticker.C:
			case <-over.Done():
				delivered <- nil
				return
			}
		}
	}()
	read := func(lasting time.Duration) {
		reader, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		require.NoError(t, err)
		_, err = reader.Exec(t.Context(), "SELECT count(*) FROM hooklatch.processed_events, (SELECT FROM hooklatch.effects LIMIT 1) AS one")
		require.NoError(t, err)
		time.AfterFunc(lasting, func() { _ = reader.Rollback(context.Background()) })
	}

	for _, step := range []func() error{
		func() error { _, err := migrator.Up(t.Context()); return err },
		func() error { _, err := migrator.Down(t.Context(), down); return err },
		func() error { _, err := migrator.Up(t.Context()); return err },
	} {
		read(5 * time.Second)
		began := time.Now()
		require.NoError(t, step())
		t.Logf("took %v", time.Since(began))
	}
	end()
	require.NoError(t, <-delivered)
	slices.Sort(waits)
	t.Logf("%d deliveries: p50 %v, p99 %v, longest %v", len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
	require.Less(t, waits[len(waits)-1], 500*time.Millisecond)
}
