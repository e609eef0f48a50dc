package quarantine

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Expired deliveries and addresses are deleted even if no further delivery is offered, for example
// because a source now has quarantine: off.
func TestExpiredRowsGoWithoutTraffic(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	k, err := NewKeeper(KeeperOptions{Pool: pool, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	k.tidyEvery = 10 * time.Millisecond
	k.Start()
	for range 3 { // Start itself deletes expired rows only once
		_, err = pool.Exec(t.Context(), `
			INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, known, method, host, secure, target, headers, body, bytes)
			VALUES ($1, 'stripe', now() - interval '8 days', 'wrong_signature', false, 'POST', '', true, '', '{}', '', 1)`, uuid.New())
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `INSERT INTO hooklatch.known_addresses (source, address, accepted_at) VALUES ('stripe', '192.0.2.1', now() - interval '31 days')`)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			var left int
			err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM hooklatch.rejected_deliveries) + (SELECT count(*) FROM hooklatch.known_addresses)`).Scan(&left)
			return err == nil && left == 0
		}, 2*time.Minute, 10*time.Millisecond)
	}
}
