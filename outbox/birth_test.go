package outbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// born returns an effect of e whose first attempt the dispatching process claims.
func born(e *inbox.Event, key string) ledger.NewEffect {
	effect := planned(e, key)
	effect.Request = ledger.Request{ContentType: "application/json", Headers: map[string][]string{"X-Own": {"1"}}, Body: []byte(`{"n":1}`)}
	effect.Claim = &ledger.Claim{ClaimID: uuid.New(), Lease: lease, FirstRequest: ledger.Request{
		Method: "PUT", URL: "http://app.test/", Headers: map[string][]string{"X-Own": {"2"}, "X-First": {"a", "b"}},
	}}
	return effect
}

// birth dispatches an event with an effect whose first attempt is claimed.
func (b *bundle) birth(t *testing.T, id string) ledger.Effect {
	t.Helper()
	e := b.accepted(t, "stripe", id)
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{born(e, id)}})
	require.NoError(t, err)
	require.Len(t, d.Started, 1)
	return d.Started[0]
}

// job is an effect's row of river_job.
type job struct {
	ID          int64      `json:"id"`
	State       string     `json:"state"`
	Attempt     int        `json:"attempt"`
	ScheduledAt time.Time  `json:"scheduled_at"`
	FinalizedAt *time.Time `json:"finalized_at"`
	Errors      []struct {
		Attempt int    `json:"attempt"`
		Error   string `json:"error"`
	} `json:"errors"`
}

// effectJobs returns all effect jobs, ordered by id.
func (b *bundle) effectJobs(t *testing.T) []job {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT to_jsonb(j) FROM hooklatch.river_job AS j WHERE kind = 'effect' ORDER BY id`)
	require.NoError(t, err)
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j job, err error) {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return job{}, err
		}
		return j, json.Unmarshal(text, &j)
	})
	require.NoError(t, err)
	return jobs
}

// The dispatching process gets the same effect that a claim would return.
func TestAnEffectBeginsWithItsFirstAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	effect, forwarded := born(e, "in_1"), born(e, "in_2")
	forwarded.Request = ledger.Request{Method: "POST", FromDelivery: true}
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect, forwarded}})
	require.NoError(t, err)
	require.Equal(t, []identity.EffectID{effect.EffectID, forwarded.EffectID}, d.Created)
	require.Len(t, d.Started, 2)
	for i, asked := range []ledger.NewEffect{effect, forwarded} {
		claim := *asked.Claim
		claim.ID = asked.EffectID
		again, err := b.Ledger().Claim(t.Context(), claim)
		require.NoError(t, err)
		require.Equal(t, ledger.ClaimGranted, again.Status)
		require.NoError(t, b.Ledger().LoadBody(t.Context(), &again.Effect))
		told := again.Effect
		require.Equal(t, e.ReceivedAt, told.EventReceivedAt)
		told.EventReceivedAt = time.Time{}
		told.LeaseUntil, d.Started[i].LeaseUntil = time.Time{}, time.Time{} // the claim began a new lease
		told.OccurredAt, d.Started[i].OccurredAt = time.Time{}, time.Time{} // an event without a time gets the time of its arrival
		require.Equal(t, told, d.Started[i])
	}
	require.Equal(t, map[string][]string{"X-Own": {"1"}, "X-First": {"a", "b"}}, d.Started[0].Request.Headers)
	require.JSONEq(t, `{"id":"x","type":"invoice.paid"}`, string(d.Started[1].Request.Body))

	jobs := b.effectJobs(t)
	require.Len(t, jobs, 2)
	for i, j := range jobs {
		require.Equal(t, d.Started[i].JobID, j.ID)
		require.Equal(t, "scheduled", j.State)
		require.InDelta(t, lease, j.ScheduledAt.Sub(d.Started[i].LastAttemptAt), float64(time.Millisecond))
	}
	again, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{born(e, "in_1")}})
	require.NoError(t, err)
	require.Equal(t, Dispatched{}, again)
}

// An effect that is claimed at dispatch and done has the same rows as any other effect, and no job
// is left.
func TestAnEffectThatIsDoneAtOnceLeavesNoJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.birth(t, "evt_1")
	require.Equal(t, ledger.EffectDone, b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 204}).State)
	require.Empty(t, b.effectJobs(t))
	again := b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 204})
	require.Equal(t, ledger.Settled{State: ledger.EffectDone, NextAttemptAt: again.NextAttemptAt}, again, "repeating a settlement whose response was lost returns the same result")
	attempts, err := b.Ledger().Attempts(t.Context(), e.EffectID)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Equal(t, e.JobID, attempts[0].JobID)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effect_transitions
		WHERE id = 1 AND from_state = 'pending' AND to_state = 'started' AND attempt = 1`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effect_transitions
		WHERE id = 2 AND from_state = 'started' AND to_state = 'done' AND attempt = 1`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effect_transitions`))
}

// An effect that was not done immediately is visible in River UI, and a job makes its next
// attempt. An attempt that is due soon does not wait for River's scheduler.
func TestAnEffectThatIsNotDoneAtOnceKeepsItsJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name    string
		ended   ledger.Settlement
		state   string
		retryIn time.Duration
	}{
		{"not applied, due soon", ledger.Settlement{Verdict: ledger.VerdictNotApplied, RetryIn: time.Second}, "available", time.Second},
		{"not applied, due later", ledger.Settlement{Verdict: ledger.VerdictNotApplied, RetryIn: time.Minute}, "retryable", time.Minute},
		{"maybe applied", ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, RetryIn: time.Minute}, "retryable", time.Minute},
		{"refused", ledger.Settlement{Verdict: ledger.VerdictRefused}, "cancelled", 0},
		{"used up", ledger.Settlement{Verdict: ledger.VerdictNotApplied, GiveUp: true}, "cancelled", 0},
	} {
		_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
		require.NoError(t, err)
		e := b.birth(t, c.name)
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND metadata = '{}' AND tags = '{}'`), c.name)
		c.ended.Error = "so it is"
		settled := b.settle(t, e, c.ended)
		jobs := b.effectJobs(t)
		require.Len(t, jobs, 1, c.name)
		require.Equal(t, e.JobID, jobs[0].ID, c.name)
		require.Equal(t, c.state, jobs[0].State, c.name)
		require.Equal(t, 1, jobs[0].Attempt, c.name)
		require.Len(t, jobs[0].Errors, 1, c.name)
		require.Equal(t, "app: so it is", jobs[0].Errors[0].Error, c.name)
		require.Equal(t, settled.State.Finished(), jobs[0].FinalizedAt != nil, c.name)
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE metadata ->> 'idempotency_key' = $1 AND metadata ->> 'dedup_key' = $2
			AND tags = '{dst-app,src-stripe,type-invoice-paid}'`, e.IdempotencyKey, c.name), c.name)
		if c.retryIn > 0 {
			require.WithinDuration(t, settled.NextAttemptAt, jobs[0].ScheduledAt, 0, c.name)
		}
	}
}

// A settlement does not change a job that is running, or that another transaction has locked.
func TestASettlementLeavesAJobThatRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.birth(t, "evt_1")
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'running' WHERE kind = 'effect'`)
	require.NoError(t, err)
	b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, "running", b.effectJobs(t)[0].State)

	e = b.birth(t, "evt_2")
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM hooklatch.river_job WHERE id = $1 FOR UPDATE`, e.JobID)
	require.NoError(t, err)
	b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictDone})
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, "scheduled", b.effectJobs(t)[1].State)
}

// The job takes over when the lease has ended. The outcome of the lost attempt is unknown.
func TestTheJobTakesOverFromALostBirth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.birth(t, "evt_1")
	byJob := claimOf(e.EffectID)
	byJob.JobID = e.JobID
	leased, err := b.Ledger().Claim(t.Context(), byJob)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimLeased, leased.Status)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET lease_until = now() - interval '1 second'`)
	require.NoError(t, err)
	taken, err := b.Ledger().Claim(t.Context(), byJob)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, taken.Status)
	require.Equal(t, 2, taken.Effect.Attempt)
	require.Equal(t, e.LastAttemptAt, taken.Effect.MaybeAppliedSince)
	require.Equal(t, e.Request.Headers, taken.Effect.Request.Headers)
	require.Equal(t, e.Request.URL, taken.Effect.Request.URL)
	require.True(t, b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictRefused}).Late)
	require.Len(t, b.effectJobs(t), 1, "the job belongs to the second attempt")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE attempt = 1 AND lost`))
	require.Equal(t, ledger.EffectDone, b.settle(t, taken.Effect, ledger.Settlement{Verdict: ledger.VerdictDone}).State)
}

// An attempt that ended before it called the receiver was not applied. The effect is not in doubt.
func TestABirthThatSentNothingIsNoDoubt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.birth(t, "evt_1")
	b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictNotApplied, Error: "stopped"})
	next := b.granted(t, e.EffectID, lease)
	require.Equal(t, 2, next.Attempt)
	require.Zero(t, next.MaybeAppliedSince)
}

// An effect that the dispatch could not claim waits like any other effect. Its first claim completes
// the request.
func TestNothingIsBornForADestinationThatIsPausedOrMoved(t *testing.T) {
	t.Parallel()
	for _, paused := range []string{
		`operator_paused = true, paused_at = now()`, `breaker_state = 'open', opened_at = now(), probe_at = now()`, `queue = 'dst_other'`,
	} {
		b := setup(t)
		_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('app', 'http', 'dst_app', '')`)
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET `+paused)
		require.NoError(t, err)
		e := b.accepted(t, "stripe", "evt_1")
		d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{born(e, "in_1")}})
		require.NoError(t, err)
		require.Len(t, d.Created, 1)
		require.Empty(t, d.Started)
		require.Equal(t, "available", b.effectJobs(t)[0].State)
		stands := b.effect(t, d.Created[0])
		require.Equal(t, ledger.EffectPending, stands.State)
		require.Zero(t, stands.Attempt)
		require.Empty(t, stands.Request.URL)
	}
}

// Two events plan the same effect. The effect belongs to the first event, whose dispatch starts the
// first attempt.
func TestOneOfTwoDispatchesStartsTheirEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.accepted(t, "stripe", "evt_1"), b.accepted(t, "stripe", "evt_2")
	var results []Dispatched
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) (err error) {
		results, err = b.dispatchBatch(t.Context(), tx, []Dispatch{
			{Event: first, Effects: []ledger.NewEffect{born(first, "in_1"), born(first, "in_1")}},
			{Event: second, Effects: []ledger.NewEffect{born(second, "in_1")}},
		})
		return err
	}))
	require.Len(t, results[0].Started, 1)
	require.Len(t, results[0].Suppressed, 1)
	require.Empty(t, results[1].Started)
	require.Len(t, b.effectJobs(t), 1)
	require.Equal(t, ledger.EffectDone, b.settle(t, results[0].Started[0], ledger.Settlement{Verdict: ledger.VerdictDone}).State)
}

func TestWhatNeedsMoreThanACallIsNotBorn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	for name, change := range map[string]func(*ledger.NewEffect){
		"at_most_once": func(e *ledger.NewEffect) { e.Policy = ledger.AtMostOnce },
		"ordered":      func(e *ledger.NewEffect) { e.OrderKey = "one" },
		"latest":       func(e *ledger.NewEffect) { e.LatestKey = "one" },
		"late":         func(e *ledger.NewEffect) { e.Request = ledger.Request{Late: true} },
		"parked":       func(e *ledger.NewEffect) { e.Parked = "a template failed" },
		"no lease":     func(e *ledger.NewEffect) { e.Claim.Lease = 0 },
		"no claim id":  func(e *ledger.NewEffect) { e.Claim.ClaimID = uuid.Nil },
	} {
		effect := born(e, "in_1")
		change(&effect)
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.Error(t, err, name)
	}
	// A caller's transaction may take long, and may be rolled back, so it claims no first attempt.
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		d, err := b.DispatchTx(t.Context(), tx, Dispatch{Event: e, Effects: []ledger.NewEffect{born(e, "in_1")}}, nil)
		require.Empty(t, d.Started)
		return err
	}))
	require.Equal(t, "available", b.effectJobs(t)[0].State)
	for _, column := range []string{
		`policy = 'at_most_once'`, `order_key = 'one'`, `request_rendering = 'late'`, `attempt = 2`, `claim_id = NULL`, `lease_until = NULL`,
	} {
		_, err := b.pool.Exec(t.Context(), `
INSERT INTO hooklatch.effects
SELECT (jsonb_populate_record(e, jsonb_build_object('key', 'copy', 'effect_id', 0, 'state', 'started', 'attempt', 1, 'claim_id', gen_random_uuid(),
    'lease_until', now(), 'last_attempt_at', now()) || jsonb_build_object(split_part($1, ' = ', 1), NULLIF(trim(split_part($1, ' = ', 2), ''''), 'NULL')))).*
FROM hooklatch.effects AS e`, column)
		require.ErrorContains(t, err, "no transition from nothing", column)
	}
}
