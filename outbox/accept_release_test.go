package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

// tracked returns a delivery and the counter of its releases.
func tracked(source string, ids ...string) (d Delivery, released *atomic.Int32) {
	released = new(atomic.Int32)
	d = delivery(source, ids...)
	d.Release = func() { released.Add(1) }
	return d, released
}

func TestAcceptReleasesTheBodyOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name string
		ids  []string
		err  bool
	}{
		{name: "new", ids: []string{"evt_1"}},
		{name: "duplicate", ids: []string{"evt_1"}},
		{name: "without events"},
		{name: "unusable id", ids: []string{""}, err: true},
	} {
		d, released := tracked("stripe", c.ids...)
		_, err := b.Accept(t.Context(), d)
		require.Equal(t, c.err, err != nil, "%s: %v", c.name, err)
		require.EqualValues(t, 1, released.Load(), c.name)

		d, released = tracked("stripe", c.ids...)
		_ = pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := b.AcceptTx(t.Context(), tx, d)
			require.Equal(t, c.err, err != nil, "%s: %v", c.name, err)
			return err
		})
		require.EqualValues(t, 1, released.Load(), "%s in a transaction of the caller", c.name)
	}
	require.NoError(t, b.Stop(t.Context()))
	d, released := tracked("stripe", "evt_2")
	_, err := b.Accept(t.Context(), d)
	require.ErrorIs(t, err, commit.ErrClosed)
	require.EqualValues(t, 1, released.Load())
}

// The sender hangs up while its delivery waits for a lock. The outbox holds the body until the
// delivery's commit has ended, and no longer.
func TestAcceptHoldsTheBodyOfACallerThatHungUp(t *testing.T) {
	t.Parallel()
	b := setup(t, func(opts *Options) { opts.AcceptTimeout = 20 * time.Second })
	holder, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = b.AcceptTx(t.Context(), holder, delivery("stripe", "evt_1"))
	require.NoError(t, err)

	released := make(chan struct{}, 2)
	d := delivery("stripe", "evt_1")
	d.Release = func() { released <- struct{}{} }
	ctx, hangUp := context.WithCancelCause(t.Context())
	gone := errors.New("hung up")
	hangUp(gone)
	_, err = b.Accept(ctx, d)
	require.ErrorIs(t, err, gone)
	// Another delivery is committed meanwhile, so the committers are working.
	_, err = b.Accept(t.Context(), delivery("stripe", "evt_2"))
	require.NoError(t, err)
	require.Empty(t, released)

	require.NoError(t, holder.Commit(t.Context()))
	<-released
	require.NoError(t, b.Stop(t.Context()))
	require.Empty(t, released)
}
