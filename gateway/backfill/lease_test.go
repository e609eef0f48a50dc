package backfill

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

// A gateway that starts during an operator's pass makes the list due. The due pass must not
// overtake the operator's pass: it begins right after the operator's pass has ended.
func TestAListThatIsMadeDueWaitsForThePassAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Every = time.Hour
	w.happen(3, "invoice.paid", func(int) int { return 0 })
	other, err := New(w.backfill.opts)
	require.NoError(t, err)
	asked, goOn := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(goOn) })
	defer end()
	var first sync.Once
	w.refuse = func(http.ResponseWriter, *http.Request) bool {
		first.Do(func() {
			close(asked)
			<-goOn
		})
		return false
	}
	type outcome struct {
		runs []coverage.Run
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		runs, err := w.backfill.Run(t.Context(), "stripe", Order{By: "ann"})
		ended <- outcome{runs, err}
	}()
	<-asked
	require.NoError(t, w.outbox.Coverage().Hurry(t.Context(), []identitySource{"stripe"}))
	before := len(w.requests)
	require.NoError(t, other.Turn(t.Context()))
	require.Len(t, w.requests, before, "no pass begins while another one reads the list")
	end()
	came := <-ended
	require.NoError(t, came.err)
	require.EqualValues(t, 3, came.runs[0].Recovered)

	w.happen(1, "invoice.paid", func(int) int { return 0 })
	require.NoError(t, other.Turn(t.Context()))
	runs, err := w.outbox.Coverage().Runs(t.Context(), "stripe", 1)
	require.NoError(t, err)
	require.Equal(t, coverage.ModeAuto, runs[0].Mode)
	require.EqualValues(t, 1, runs[0].Recovered, "the next pass begins right after it")
	before = len(w.requests)
	require.NoError(t, other.Turn(t.Context()))
	require.Len(t, w.requests, before, "the list was due only once")
}

// While a pass makes progress, no other pass over its list becomes due, even after the end of its
// first lease. If the process of a pass was lost, another pass begins once the lease has ended.
func TestAPassThatGetsOnKeepsItsList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	c, stream := w.outbox.Coverage(), w.source.stream("")
	begin := func(ordered bool) *coverage.Pass {
		p, err := c.Begin(t.Context(), stream, ordered, time.Minute, 0)
		require.NoError(t, err)
		return p
	}
	runsOut := func() {
		_, err := w.pool.Exec(t.Context(), "UPDATE hooklatch.coverage SET lease_until = now(), next_at = now()")
		require.NoError(t, err)
	}
	p := begin(true)
	runsOut()
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return c.MoveTx(t.Context(), tx, p, coverage.Move{}) }))
	require.Nil(t, begin(false))
	require.NoError(t, c.Hurry(t.Context(), []identitySource{"stripe"}))
	require.Nil(t, begin(false), "a list made due must still wait for the lease")
	runsOut()
	require.NotNil(t, begin(false))
}
