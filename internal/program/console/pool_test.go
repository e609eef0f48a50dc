package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Pages for viewers use none of the workers' connections: the pages respond while all of these
// connections are in use. This includes pages with bodies that are too large for a shared
// statement.
func TestAViewerNeedsNoneOfTheWorkersConnections(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	work, err := pgxpool.New(t.Context(), pgtest.URL(t, pool)+"&pool_max_conns=1")
	require.NoError(t, err)
	t.Cleanup(work.Close)
	b := setupOn(t, pool, func(o *console.Options) {
		box, err := outbox.New(outbox.Options{Pool: work, ReadPool: pool})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
		o.Outbox = box
	})
	large := `{"large":"` + strings.Repeat("x", 100<<10) + `"}`
	var events, effects []string
	for id, body := range map[string]string{"evt_small": `{}`, "evt_large": large} {
		key := b.dispatch(t, b.accept(t, id, "invoice.paid", body), ledger.AtLeastOnce)
		events, effects = append(events, "/events/stripe/"+id), append(effects, "/effects/"+key)
	}

	held, err := work.Acquire(t.Context())
	require.NoError(t, err)
	defer held.Release()
	for _, path := range []string{"/", "/events", "/live", "/effects", "/runs", "/destinations", "/destinations/app", "/routes", "/routes/paid", "/sources/stripe", "/numbers", "/quarantine", "/find?q=nothing"} {
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path).Code, path)
	}
	for _, path := range events {
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path).Code, path)
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path+"/raw").Code, path)
	}
	for _, path := range effects {
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path).Code, path)
		require.Equal(t, http.StatusOK, b.as(signin.Viewer, path+"/body").Code, path)
	}
	require.Equal(t, large, b.as(signin.Viewer, "/events/stripe/evt_large/raw").Body.String())
	for _, event := range []string{"stripe/evt_small", "stripe/evt_large"} {
		tried := b.answer(asking{"/try", `{"route": "true", "source": "stripe", "event": "` + event + `"}`}.request(signin.Viewer))
		require.Equal(t, http.StatusOK, tried.Code, tried.Body)
	}
}
