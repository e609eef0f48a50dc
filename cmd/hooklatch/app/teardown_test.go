package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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

func TestPassing(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"08006": true, "53300": true, "57P03": true, "57P01": true, "25006": true,
		"28P01": false, "28000": false, "3D000": false, "42501": false, "42P01": false,
	} {
		require.Equal(t, want, app.Passing(fmt.Errorf("connect: %w", &pgconn.PgError{Code: code})), code)
	}
	require.True(t, app.Passing(fmt.Errorf("query: %w", io.ErrUnexpectedEOF)))
	require.True(t, app.Passing(context.DeadlineExceeded))
	require.False(t, app.Passing(errors.New("schema is not ready")))
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
