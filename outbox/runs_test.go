package outbox

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// deciding returns runs whose conditions are all decided by match.
func (b *bundle) deciding(match func(e *inbox.Event) (bool, error)) *runs.Runs {
	return b.Runs().With(b.Finder().With(func(context.Context, string) (find.Match, error) { return find.Match{By: match}, nil }))
}

// runsOf returns runs in which any condition matches the events with an odd number, and fails for
// evt_003. The condition "wrong" is invalid.
func (b *bundle) runsOf(t *testing.T) *runs.Runs {
	t.Helper()
	return b.Runs().With(b.Finder().With(func(_ context.Context, text string) (find.Match, error) {
		if text == "wrong" {
			return find.Match{}, errors.New("no such name")
		}
		return find.Match{By: func(e *inbox.Event) (bool, error) {
			if e.EventID == "evt_003" {
				return false, errors.New("no such key")
			}
			n, err := strconv.Atoi(string(e.EventID[len("evt_"):]))
			return n%2 == 1, err
		}}, nil
	}))
}

func retryAt(destination string) runs.Order {
	return runs.Order{Action: ledger.ActionRetryEffect, Effects: failedAt(destination)}
}

const whenever = 365 * 24 * time.Hour

func (b *bundle) workOff(t *testing.T, r *runs.Runs, id int64, progress func(runs.Run)) runs.Run {
	t.Helper()
	run, err := r.Work(t.Context(), id, time.Now().Add(whenever), progress)
	require.NoError(t, err)
	return run
}

func TestARunRetriesWhatItsPreviewCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	const n = 2*batchSize + 50
	b.manyFailed(t, n, "app")
	b.manyFailed(t, 3, "crm")
	preview, err := r.Preview(t.Context(), retryAt("app"), runs.Bite{})
	require.NoError(t, err)
	require.Equal(t, int64(n), preview.Selected)
	require.False(t, preview.More)
	require.Len(t, preview.Sample, 10)
	require.Empty(t, b.actions(t), "a preview changes nothing")
	b.manyFailed(t, 0, "app")

	require.Equal(t, 404, preview.Sample[0].ResponseStatus)
	require.Equal(t, "app", preview.Sample[0].Destination)
	order := preview.Order
	order.Name, order.Counted = "after the fix", preview.Selected
	run, err := r.Begin(t.Context(), order, because("the route is deployed"))
	require.NoError(t, err)
	require.Equal(t, runs.Running, run.State)
	require.Equal(t, int64(n), run.Total)
	require.Equal(t, "retry effects: destination app, state failed", run.Words())
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.run'`), "a job is inserted immediately")
	var steps []int64
	run = b.workOff(t, r, run.ID, func(at runs.Run) { steps = append(steps, at.Changed) })
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, runs.Counts{Selected: n, Changed: n}, run.Counts)
	require.Equal(t, []int64{200, 400, 450, 450}, steps)
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'pending'`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed'`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.effect_transitions WHERE reason = 'retried by ann: the route is deployed (run 1)'`))
	log := b.actions(t)
	require.Len(t, log, 1, "one operator action leaves one row")
	require.Equal(t, run.ID, log[0].Run)
	require.Equal(t, ledger.ActionRetryEffect, log[0].Action)

	require.Equal(t, run, b.workOff(t, r, run.ID, nil), "a completed run is not repeated")
	_, err = r.Get(t.Context(), 99)
	require.ErrorIs(t, err, runs.ErrNoRun)
	listed, err := r.List(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, []runs.Run{run}, listed)
}

// A preview returns its counts when it reaches its time limit. The next call continues from the same
// place.
func TestAPreviewCountsInBites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.manyFailed(t, 4500, "app")
	order, bite, answers := retryAt("app"), runs.Bite{For: time.Nanosecond}, 0
	for more := true; more; answers++ {
		v, err := r.Preview(t.Context(), order, bite)
		require.NoError(t, err)
		order, bite.After, bite.Counts, more = v.Order, v.Place, v.Counts, v.More
	}
	require.Equal(t, int64(4500), bite.Selected)
	require.Greater(t, answers, 2)
	v, err := r.Preview(t.Context(), order, runs.Bite{Most: 10})
	require.NoError(t, err)
	require.Greater(t, v.Selected, int64(10))
	require.Less(t, v.Selected, int64(4500))
}

func TestARunThatMayNotSelectSoManyIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.manyFailed(t, 30, "app")
	order := retryAt("app")
	order.Most = 29
	_, err := r.Begin(t.Context(), order, ann)
	many, is := errors.AsType[*runs.ManyError](err)
	require.True(t, is, err)
	require.Equal(t, int64(29), many.Most)
	order.Most = 30
	run, err := r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	require.Equal(t, int64(30), run.Total)

	// The selection may have grown since it was counted.
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET most = 5`)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, nil)
	require.Equal(t, runs.Stopped, run.State)
	require.Contains(t, run.Error, "more than 5")
	require.Zero(t, run.Changed)
	require.Zero(t, run.Selected)
	run, err = r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, nil)
	require.Equal(t, runs.Done, run.State, "30 targets do not exceed the limit of 30")
	require.Equal(t, int64(30), run.Changed)

	doubtful := retryAt("app")
	doubtful.InDoubt = true
	_, err = r.Begin(t.Context(), doubtful, ann)
	require.ErrorIs(t, err, runs.ErrNoReason)
}

// A worker that takes over continues where the previous worker stopped, and the counts are correct.
func TestARunGoesOnInOtherHands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	const n = 5 * batchSize
	b.manyFailed(t, n, "app")
	run, err := r.Begin(t.Context(), retryAt("app"), ann)
	require.NoError(t, err)
	for range 4 { // each worker is cut off after a batch
		ctx, cut := context.WithCancel(t.Context())
		run, err = r.Work(ctx, run.ID, time.Now().Add(whenever), func(runs.Run) { cut() })
		require.NoError(t, err)
		require.Equal(t, runs.Running, run.State)
		require.False(t, run.Worked, "another worker may continue immediately")
	}
	require.Equal(t, int64(4*batchSize), run.Changed)

	// A worker that stalled for longer than its lease resumes, and changes nothing more.
	b.manyFailed(t, 0, "app")
	first := true
	run, err = r.Work(t.Context(), run.ID, time.Now().Add(whenever), func(runs.Run) {
		if !first {
			return
		}
		first = false
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET leased_until = now() - interval '1 second'`)
		require.NoError(t, err)
		other := b.workOff(t, r, run.ID, nil)
		require.Equal(t, runs.Done, other.State)
	})
	require.NoError(t, err)
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, runs.Counts{Selected: n, Changed: n}, run.Counts)
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))

	// While one worker processes the run, another worker does nothing.
	b.manyFailed(t, 2*batchSize, "crm")
	run, err = r.Begin(t.Context(), retryAt("crm"), ann)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, func(at runs.Run) {
		meanwhile := b.workOff(t, r, run.ID, func(runs.Run) { t.Error("two workers processed the run at the same time") })
		if meanwhile.State == runs.Running {
			require.True(t, meanwhile.Worked)
			require.Equal(t, at.Changed, meanwhile.Changed)
		}
	})
	require.Equal(t, runs.Counts{Selected: 2 * batchSize, Changed: 2 * batchSize}, run.Counts)
}

// A worker whose run was taken by another worker changes nothing more, even if the other worker has
// not begun yet.
func TestAWorkerWhoseRunWasTakenChangesNothingMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.manyFailed(t, 3*batchSize, "app")
	run, err := r.Begin(t.Context(), retryAt("app"), ann)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, func(runs.Run) {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET worker = gen_random_uuid()`)
		require.NoError(t, err)
	})
	require.Equal(t, runs.Running, run.State)
	require.Equal(t, batchSize, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'pending'`))
}

// A worker that waits for its next batch may have checked events after the stored position. Only the
// worker that continues from there counts them.
func TestWhatIsBehindThePlaceIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.skipped(t, "stripe", 10)
	order := runs.Order{Action: ledger.ActionReplayEvent, PerSecond: 0.001, Events: find.Events{Source: "stripe", Content: find.Content{When: "odd"}}}
	run, err := r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	ctx, cut := context.WithCancel(t.Context())
	steps := 0
	run, err = r.Work(ctx, run.ID, time.Now().Add(whenever), func(runs.Run) {
		if steps++; steps == 2 { // the condition failed for evt_003, and evt_005 waits for its turn
			cut()
		}
	})
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 1, Changed: 1}, run.Counts)
	require.NoError(t, r.SetPace(t.Context(), run.ID, 0, ann))
	ctx, cut = context.WithCancel(t.Context())
	run, err = r.Work(ctx, run.ID, time.Now().Add(whenever), func(at runs.Run) {
		if at.Changed == 3 { // the position is now after evt_003
			cut()
		}
	})
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 3, Changed: 3, Unclear: 1}, run.Counts)
	require.Equal(t, runs.Counts{Selected: 4, Changed: 4, Unclear: 1}, b.workOff(t, r, run.ID, nil).Counts)
}

// A run whose process was killed gets another job.
func TestARunThatNobodyIsAtIsEnqueued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	run, err := r.Begin(t.Context(), retryAt("app"), ann)
	require.NoError(t, err)
	jobs := func() int { return b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.run'`) }
	require.NoError(t, r.Enqueue(t.Context()))
	require.Equal(t, 1, jobs(), "the run has just been given a job")
	set := func(what string) {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET `+what)
		require.NoError(t, err)
	}
	set(`enqueued_at = now() - interval '1 hour', leased_until = now() + interval '1 minute'`)
	require.NoError(t, r.Enqueue(t.Context()))
	require.Equal(t, 1, jobs(), "a worker is processing the run")
	set(`leased_until = now() - interval '1 second'`)
	require.NoError(t, r.Enqueue(t.Context()))
	require.NoError(t, r.Enqueue(t.Context()))
	require.Equal(t, 2, jobs())
	require.NoError(t, r.Stop(t.Context(), run.ID, ann))
	set(`enqueued_at = now() - interval '1 hour', leased_until = now() - interval '1 second'`)
	require.NoError(t, r.Enqueue(t.Context()))
	require.Equal(t, 2, jobs())
}

func TestARunIsPausedSlowedResumedAndStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	const n = 5 * batchSize
	b.manyFailed(t, n, "app")
	run, err := r.Begin(t.Context(), retryAt("app"), ann)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, func(at runs.Run) {
		require.Equal(t, int64(batchSize), at.Changed, "nothing is done after the operator paused the run")
		require.NoError(t, r.Pause(t.Context(), run.ID, because("too fast")))
	})
	require.Equal(t, runs.Paused, run.State)
	require.Equal(t, runs.Counts{Selected: batchSize, Changed: batchSize}, run.Counts)
	require.Equal(t, run, b.workOff(t, r, run.ID, nil))
	var wrong *runs.StateError
	require.ErrorAs(t, r.Pause(t.Context(), run.ID, ann), &wrong)
	require.NoError(t, r.SetPace(t.Context(), run.ID, 1000, ann))

	jobs := func() int { return b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.run'`) }
	before := jobs()
	require.NoError(t, r.Resume(t.Context(), run.ID, ann))
	require.Equal(t, before+1, jobs(), "a worker continues it immediately, not only after a minute")
	began := time.Now()
	run = b.workOff(t, r, run.ID, func(at runs.Run) {
		if at.Changed == 4*batchSize {
			require.NoError(t, r.Stop(t.Context(), run.ID, ann))
		}
	})
	require.Equal(t, runs.Stopped, run.State)
	require.Equal(t, int64(4*batchSize), run.Changed)
	require.GreaterOrEqual(t, time.Since(began), 2*batchSize*time.Second/1000, "three waits, each for 200 changes at 1,000 a second")
	require.ErrorAs(t, r.Resume(t.Context(), run.ID, ann), &wrong)
	require.ErrorContains(t, wrong, "the run is stopped: it can no longer be changed")
	require.ErrorIs(t, r.Stop(t.Context(), 99, ann), runs.ErrNoRun)
	var words []string
	for _, a := range b.actions(t) {
		require.Equal(t, run.ID, a.Run)
		words = append(words, string(a.Action)+" "+a.Result)
	}
	require.Equal(t, []string{
		"run.stop after 800 selected, 800 changed", "run.resume after 200 selected, 200 changed", "run.pace after 200 selected, 200 changed",
		"run.pause after 200 selected, 200 changed", "effect.retry run 1 begins",
	}, words)
}

// A new worker keeps the pace of the previous worker, and a worker that waits for its turn notices
// that the run was paused.
func TestAPaceHoldsInOtherHands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.manyFailed(t, 10, "app")
	order := retryAt("app")
	order.PerSecond = 0.001
	run, err := r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	for workers := range 3 { // each worker has less time than the pause between two batches
		run, err = r.Work(t.Context(), run.ID, time.Now().Add(300*time.Millisecond), nil)
		require.NoError(t, err)
		for run.Changed == 0 && workers == 0 { // a busy machine may leave the first worker no time for a change
			run, err = r.Work(t.Context(), run.ID, time.Now().Add(300*time.Millisecond), nil)
			require.NoError(t, err)
		}
		require.Equal(t, int64(1), run.Changed)
		require.Equal(t, int64(1), run.Selected, "targets that wait for their turn are not counted yet")
		require.False(t, run.Worked)
	}
	require.NoError(t, r.SetPace(t.Context(), run.ID, 0, ann))
	require.Equal(t, int64(10), b.workOff(t, r, run.ID, nil).Changed, "a new pace applies immediately")

	b.manyFailed(t, 10, "crm")
	order.Effects = failedAt("crm")
	run, err = r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	looks := 0
	run = b.workOff(t, r, run.ID, func(at runs.Run) {
		require.Equal(t, int64(1), at.Changed)
		if looks++; looks == 2 { // the worker waits, and extends its lease
			require.NoError(t, r.Pause(t.Context(), run.ID, ann))
		}
	})
	require.Equal(t, runs.Paused, run.State)
	require.Equal(t, runs.Counts{Selected: 1, Changed: 1}, run.Counts)
}

func TestARunReplaysEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.skipped(t, "stripe", 10)
	b.skipped(t, "github", 2)
	order := runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Source: "stripe", Type: "invoice.*", State: inbox.Skipped, Content: find.Content{When: "odd"}}}
	preview, err := r.Preview(t.Context(), order, runs.Bite{})
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 4, Unclear: 1, WhyUnclear: "no such key"}, preview.Counts)
	require.Equal(t, identity.EventID("evt_001"), preview.Sample[0].Event.EventID)
	run, err := r.Begin(t.Context(), preview.Order, because("the route is deployed"))
	require.NoError(t, err)
	b.skipped(t, "later", 3)
	_, err = b.Inbox.Replay(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_005"}, ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, nil)
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, runs.Counts{Selected: 3, Changed: 3, Unclear: 1}, run.Counts)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE run_id = 1 AND requested_by = 'ann'`), "each replay is recorded, and linked to the dispatch that it replaces (I11)")
	replays, err := b.EventReplays(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_001"})
	require.NoError(t, err)
	require.Equal(t, run.ID, replays[0].Run)

	// An inbox without events has nothing to replay, and later events are not part of the run.
	empty := setup(t)
	none, err := empty.runsOf(t).Begin(t.Context(), runs.Order{Action: ledger.ActionReplayEvent}, ann)
	require.NoError(t, err)
	empty.skipped(t, "stripe", 1)
	none = empty.workOff(t, empty.runsOf(t), none.ID, nil)
	require.Equal(t, runs.Done, none.State)
	require.Zero(t, none.Counts)
}

// A step that loses its COMMIT or the response to it is done once and counted once.
func TestAStepOfARunSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			sound.manyFailed(t, 2*batchSize, "app")
			run, err := sound.runsOf(t).Begin(t.Context(), retryAt("app"), ann)
			require.NoError(t, err)
			f.Arm(mode, 1)
			run = b.workOff(t, b.runsOf(t), run.ID, nil)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.Equal(t, runs.Done, run.State)
			require.Equal(t, runs.Counts{Selected: 2 * batchSize, Changed: 2 * batchSize}, run.Counts)
			require.Equal(t, 2*batchSize, sound.count(t, `SELECT count(*) FROM hooklatch.effect_transitions`))
		})
	}
}
