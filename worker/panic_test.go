package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/route"
)

// A panic in a plan fails the event. Otherwise River would discard the job, and Reconcile would
// start over forever.
func TestPanicOfAPlanEndsTheEventFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: fakeSender("http")}}
	b.opts.Routes = []route.Route{{Name: "everything", From: []string{"*"}, When: `has(body.id)`, To: "app"}}
	b.opts.MaxBody = func(string) int64 { panic("oh no") } // called by each plan that reads the body
	w := b.worker(t)
	b.accept(t, "evt_1", false)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET max_attempts = 1`)
	require.NoError(t, err)
	b.start(t, w)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'failed' AND error LIKE 'panic: %'`)
}
