package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// matching returns Runs that use match for every condition.
func (b *bundle) matching(match func(e *inbox.Event) (bool, error)) *runs.Runs {
	return b.Runs().With(b.Finder().With(func(context.Context, string) (find.Match, error) { return find.Match{By: match}, nil }))
}

func (b *bundle) erasedBy(t *testing.T, run runs.Run) (ids []string) {
	t.Helper()
	refs, err := b.Erasure().OfRun(t.Context(), run.ID)
	require.NoError(t, err)
	for _, ref := range refs {
		ids = append(ids, string(ref.EventID))
	}
	return ids
}

func TestManyAreErasedByWhatIsInThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 6 {
		b.done(t, fmt.Sprintf("evt_%d", i), fmt.Sprintf(`{"customer":%d}`, i%2))
	}
	b.accept(t, `{"customer":1}`, map[string]string{"waits": ""})
	b.done(t, "gone", `{"customer":1}`)
	b.exec(t, `DELETE FROM hooklatch.deliveries WHERE delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = 'gone')`)
	r := b.matching(func(e *inbox.Event) (bool, error) {
		if string(e.EventID) == "evt_4" {
			return false, errors.New("no such field")
		}
		return string(e.Payload()) == `{"customer":1}`, nil
	})
	order := runs.Order{Action: erasure.ActionEraseEvent, Events: find.Events{Source: "shop", Content: find.Content{When: `body.customer == "canary"`}}}
	found, err := r.Preview(t.Context(), order, runs.Bite{})
	require.NoError(t, err)
	counts := runs.Counts{Selected: 4, Unclear: 2, WhyUnclear: "no such field", Came: runs.Came{Bodiless: 1}}
	require.Equal(t, counts, found.Counts)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.operator_log`))

	var told []string
	run, err := r.Through(t.Context(), order, ann, func(at runs.Run) {
		for _, e := range at.Erased {
			require.Equal(t, 1, e.Effects)
			told = append(told, string(e.Event.EventID))
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{"evt_1", "evt_3", "evt_5"}, told)
	require.Equal(t, told, b.erasedBy(t, run))
	counts.Changed, counts.Unfinished, counts.WhyUnclear = 3, 1, ""
	require.Equal(t, counts, run.Counts)
	require.Zero(t, run.Moved())
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE request_id = $1 AND run_id = $2 AND who = 'ann'`, run.By.RequestID, run.ID))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE filter::text LIKE '%canary%' OR target LIKE '%canary%'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.replay_runs WHERE filter::text LIKE '%canary%'`), "the run has ended")

	order.Cancel = true
	run, err = r.Through(t.Context(), order, ann, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, run.Changed)
	require.Equal(t, inbox.Dropped, b.event(t, "waits").Outcome)
}

// Unfinished effects are cancelled first, each as an operator action.
func TestARunGivesUpWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 3 {
		id := fmt.Sprintf("evt_%d", i)
		b.accept(t, `{}`, map[string]string{id: ""})
		b.dispatch(t, id, id)
	}
	order := runs.Order{Action: erasure.ActionEraseEvent}
	run, err := b.Runs().Through(t.Context(), order, ann, nil)
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 3, Came: runs.Came{Unfinished: 3}}, run.Counts)
	order.Cancel = true
	run, err = b.Runs().Through(t.Context(), order, ann, nil)
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 3, Changed: 3}, run.Counts)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'cancelled'`))
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'effect.cancel' AND who = 'ann'`))
}

// A run deletes the jobs of its erased events, even if other processes erased the events or the run
// is stopped.
func TestTheJobsOfARunGoAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped: %t", stopped), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			const n = 5
			for i := range n {
				b.done(t, fmt.Sprintf("evt_%d", i), `{}`)
			}
			jobs := func() int {
				return b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind IN ('effect', 'dispatch')`)
			}
			before := jobs()
			require.Equal(t, 2*n, before)
			run, err := b.Runs().Begin(t.Context(), runs.Order{Action: erasure.ActionEraseEvent}, ann)
			require.NoError(t, err)
			ctx, killed := context.WithCancel(t.Context())
			run, err = b.Runs().Work(ctx, run.ID, time.Now().Add(time.Hour), func(at runs.Run) {
				if at.Changed == 3 {
					killed()
				}
			})
			require.NoError(t, err)
			require.EqualValues(t, 3, run.Changed)
			require.Equal(t, before, jobs())
			if stopped {
				require.NoError(t, b.Runs().Stop(t.Context(), run.ID, ann))
				require.Len(t, b.erasedBy(t, run), 3)
				require.Equal(t, before-6, jobs())
				return
			}
			run, err = b.Runs().Work(t.Context(), run.ID, time.Now().Add(time.Hour), nil)
			require.NoError(t, err)
			require.Equal(t, runs.Done, run.State)
			require.Len(t, b.erasedBy(t, run), n)
			require.Zero(t, jobs())
		})
	}
}

// The list of events that a run has erased does not include an event that was erased before the
// run.
func TestARunListsWhatItErasedItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{}`)
	b.erase(t, "evt_1")
	b.done(t, "a/b", `{}`)
	run, err := b.Runs().Through(t.Context(), runs.Order{Action: erasure.ActionEraseEvent}, ledger.Operator{Who: "bea", Via: "test"}, nil)
	require.NoError(t, err)
	refs, err := b.Erasure().OfRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, []identity.EventRef{ref("a/b")}, refs)
	require.Equal(t, "erased by bea", b.event(t, "a/b").Error)
}
