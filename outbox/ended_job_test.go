package outbox

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// runJob sets the only job of a kind to running, as River does, and returns its id.
func (b *bundle) runJob(t *testing.T, kind string) (id int64) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), `UPDATE hooklatch.river_job SET state = 'running', attempt = 1, attempted_at = now() WHERE kind = $1 RETURNING id`, kind).Scan(&id))
	return id
}

const jobsOf = `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1`

func TestTheFenceEndsTheJobThatPassesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string // a change before the dispatch
		left   int
	}{
		"a job that runs":                     {left: 0},
		"a job that was rescued, and waits":   {before: `UPDATE hooklatch.river_job SET state = 'retryable' WHERE kind = 'dispatch'`, left: 1},
		"an event that was dispatched before": {before: `UPDATE hooklatch.processed_events SET outcome = 'dispatched'`, left: 1},
		"a job that is gone":                  {before: `DELETE FROM hooklatch.river_job`, left: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e := b.accepted(t, "stripe", "evt_1")
			id := b.runJob(t, "dispatch")
			_, err := b.pool.Exec(t.Context(), c.before)
			require.NoError(t, err)
			_, err = b.Dispatch(t.Context(), Dispatch{Event: e, JobID: id})
			require.NoError(t, err)
			require.Equal(t, c.left, b.count(t, jobsOf, "dispatch"))
		})
	}
}

func TestTheFenceDoesNotWaitForItsJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	id := b.runJob(t, "dispatch")
	holder := b.begin(t)
	_, err := holder.Exec(t.Context(), `SELECT FROM hooklatch.river_job FOR UPDATE`)
	require.NoError(t, err)
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, JobID: id})
	require.NoError(t, err)
	require.True(t, d.Fenced)
	require.NoError(t, holder.Rollback(t.Context()))
	require.Equal(t, 1, b.count(t, jobsOf, "dispatch"), "River completes the job")
}

func TestTheSettlementEndsTheJobOfAnEffectThatIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  string // another change to the job
		verdict ledger.Verdict
		left    int
	}{
		"done":                           {verdict: ledger.VerdictDone, left: 0},
		"refused":                        {verdict: ledger.VerdictRefused, left: 1},
		"not applied":                    {verdict: ledger.VerdictNotApplied, left: 1},
		"done, by a job that waits anew": {before: `UPDATE hooklatch.river_job SET state = 'scheduled' WHERE kind = 'effect'`, verdict: ledger.VerdictDone, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
			claim := ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: time.Minute, JobID: b.runJob(t, "effect")}
			claimed, err := b.Ledger().Claim(t.Context(), claim)
			require.NoError(t, err)
			require.Equal(t, ledger.ClaimGranted, claimed.Status)
			_, err = b.pool.Exec(t.Context(), c.before)
			require.NoError(t, err)
			b.settle(t, claimed.Effect, ledger.Settlement{Verdict: c.verdict, EndsJob: true})
			require.Equal(t, c.left, b.count(t, jobsOf, "effect"))
		})
	}
}
