package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The start of a process is recorded on the timeline, with its version and its configuration.
func TestAStartIsOnTheTimeLine(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	cfg, err := f.load()
	require.NoError(t, err)
	require.NoError(t, a.StopPatiently(t.Context()))
	for what, name := range map[string]string{"started": "", "configured": cfg.Hash()} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT sum(n) FROM hooklatch.minutes WHERE kind = 'timeline' AND what = $1 AND name = $2`, what, name).Scan(&n))
		require.Equal(t, 1, n, what)
	}
}
