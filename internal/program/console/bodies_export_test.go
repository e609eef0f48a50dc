package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// hungExport is an export that answers no read until released is closed.
type hungExport struct {
	export.Storage

	released chan struct{}
}

func (hungExport) String() string { return "hung" }

// Get implements export.Storage.
func (h hungExport) Get(context.Context, string, int64, int64) ([]byte, error) {
	<-h.released
	return nil, export.ErrNoFile
}

// Pages that wait for an export that hangs leave the places for stored bodies to other pages.
func TestAnExportThatHangsKeepsNoPageOfAStoredEventWaiting(t *testing.T) {
	t.Parallel()
	hung := hungExport{released: make(chan struct{})}
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.exported_days (day, manifest) VALUES ('2020-01-01', 'days/2020-01-01/manifest')`)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, Export: hung, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	b := setupOn(t, pool, func(o *console.Options) { o.Outbox = box })
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)

	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer func() {
		cancel()
		close(hung.released)
		waiting.Wait()
		require.NoError(t, box.Stop(context.WithoutCancel(t.Context())))
	}()
	for range 20 {
		r := httptest.NewRequest(http.MethodGet, "/events/stripe/evt_exported", http.NoBody)
		waiting.Go(func() { b.answer(r.WithContext(ctx)) })
	}
	require.Eventually(t, func() bool { return b.console.ExportedBodies() == 8 && b.console.Bodies() == 0 }, time.Minute, time.Millisecond)
	for _, path := range []string{"/events/stripe/evt_1", "/effects/" + key, "/events/stripe/evt_1/raw"} {
		require.Equal(t, http.StatusOK, b.get(path).Code, path)
	}
}
