package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
)

// panickingBuilder renders as a bug would.
type panickingBuilder struct{}

func (panickingBuilder) build(*eventScope) (outbox.Request, error) { panic("oh no") }

// River would discard the job, and Reconcile begin anew, for ever.
func TestPanicOfAPlanEndsTheEventFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Destinations = []Destination{{Name: "app", Sender: kindOnly("http")}}
	b.opts.Routes = []Route{{Name: "everything", From: []string{"*"}, To: "app"}}
	w := b.worker(t)
	w.routes.Load().routes[0].request = panickingBuilder{}
	b.accept(t, "evt_1", false)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET max_attempts = 1`)
	require.NoError(t, err)
	b.start(t, w)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'failed' AND error LIKE 'panic: %'`)
}
