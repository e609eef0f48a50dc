package worker

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestPoolThatHandlersCanUseUpIsAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handlers int
		warning  string
	}{
		"room for all":       {handlers: 8},
		"one handler more":   {handlers: 9, warning: "the pool has 20 connections; 0 sql effects, 9 handlers and 12 for the rest may need 21"},
		"nothing that lasts": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onPool(t, pgtest.New(t, pgtest.MaxConns(20)))
			b.opts.HandlerWorkers = c.handlers
			w := b.worker(t)
			if c.handlers > 0 {
				w.Handle(testSource, "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
			}
			b.start(t, w)
			if c.warning == "" {
				require.NotContains(t, string(b.logs.bytes()), "connection pool")
				return
			}
			require.Contains(t, string(b.logs.bytes()), c.warning)
		})
	}
}
