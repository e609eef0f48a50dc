package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A process that has neither sources nor routes, for example for the console alone, takes no events
// of another program, although its configuration is the newest.
func TestAnEmptyProcessLeavesEventsToOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, gateway := range map[string]bool{"serve": true, "worker": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver, _ := newReceiver(t)
			pool := pgtest.New(t)
			database := pgtest.URL(t, pool)
			shop := newFile(t, database)
			shop.write(t, fmt.Sprintf(`
sources: {shop: {provider: token, secrets: [%s], event_id: {pointer: /id}}}
destinations: {app: {http: {url: %s}, allow_private: [127.0.0.0/8]}}
routes: [{name: all, from: shop, to: app}]
`, cellSecret, receiver))
			var logs syncBuffer
			a := started(t, shop, &logs)
			empty := newFile(t, database)
			empty.write(t, "allow_empty: true\n")
			started(t, empty, &logs, func(o *app.Options) { o.Gateway = gateway })
			for i := range 10 {
				require.Equal(t, http.StatusOK, post(t, a, "shop", fmt.Sprint("evt_", i)))
			}
			var decided, dispatched int
			require.Eventually(t, func() bool {
				err := pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE outcome <> 'received'), count(*) FILTER (WHERE outcome = 'dispatched')
					FROM hooklatch.processed_events`).Scan(&decided, &dispatched)
				return err == nil && decided == 10
			}, patience, 10*time.Millisecond)
			require.Equal(t, 10, dispatched, "the others are skipped")
		})
	}
}
