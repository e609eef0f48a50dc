package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestTeardownIsLastInFirstOut(t *testing.T) {
	t.Parallel()
	var order []string
	var down app.Teardown
	for _, name := range []string{"first", "second", "third"} {
		down.Add(name, time.Minute, func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			order = append(order, name)
			if name == "second" {
				return errors.New("stuck")
			}
			return nil
		})
	}
	require.EqualError(t, down.Run(t.Context()), "stop second: stuck")
	require.Equal(t, []string{"third", "second", "first"}, order)
	require.NoError(t, down.Run(t.Context()))
	require.Len(t, order, 3)
}

// The error of a URL that cannot be read never quotes it (I12).
func TestPoolErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:canary@h:port/d", "host=h password=canary port=x", "postgres://u:canary@@%zz", "canary"} {
		_, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(url), MaxConns: 1})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "canary")
	}
	_, err := app.NewPool(t.Context(), app.PoolOptions{MaxConns: 1})
	require.ErrorContains(t, err, "DATABASE_URL")
}
