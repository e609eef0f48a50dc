package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The clock is three days ahead during some steps of an event, and right again afterwards. An erasure
// finds the event's effect, and everything that was written about the effect.
func TestAnErasureFindsWhatWasWrittenUnderAWrongClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var id string
	var effect identity.EffectID
	var started ledger.Effect
	steps := []func(){
		func() { w.accept(t, "a", id) },
		func() { effect = w.dispatch(t, "a", id) },
		func() {
			w.run(t, `UPDATE hooklatch.effects SET next_attempt_at = now() WHERE key = $1`, id)
			started = w.claim(t, effect)
		},
		func() {
			w.settle(t, ledger.Settlement{Effect: started, Verdict: ledger.VerdictRefused, ResponseStatus: 422, ResponseExcerpt: "canary", Error: "canary"})
		},
		func() { require.NoError(t, w.Ledger().Cancel(t.Context(), effect.IdempotencyKey(), ann)) },
	}
	const ahead = 3 * day
	erase := func(id string) {
		came, err := w.Erasure().Event(t.Context(), ref("a", id), ann, erasure.Order{})
		require.NoError(t, err, id)
		require.Equal(t, 1, came.Effects, id)
		of := ` WHERE effect_id = (SELECT effect_id FROM hooklatch.effects WHERE key = $1) AND `
		require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.attempts`+of+`(response_excerpt <> '' OR error <> '')`, id), id)
		require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.transitions`+of+`reason <> ''`, id), id)
	}
	var later []string
	for from := range steps {
		for to := from + 1; to <= len(steps); to++ {
			for _, at := range []string{"once", "later"} {
				id = fmt.Sprintf("%d-%d-%s", from, to, at)
				for i, step := range steps {
					switch i {
					case from:
						w.jump(t, ahead)
					case to:
						w.jump(t, -ahead)
					}
					step()
				}
				if to == len(steps) {
					w.jump(t, -ahead)
				}
				require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE key = $1 AND response_excerpt = 'canary'`, id), id)
				require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.effect_transitions WHERE key = $1 AND to_state = 'cancelled'`, id), id)
				if at == "later" {
					later = append(later, id)
					continue
				}
				erase(id)
			}
		}
	}
	w.pass(t, 10*day)
	for _, id := range later {
		erase(id)
	}
}

// The clock is wrong by three days during the second of three attempts, or during the first of two
// dispatches. The times in the rows of the event and the effect are right again afterwards. An
// erasure still finds everything.
func TestAnErasureFindsWhatWasWrittenMeanwhileUnderAWrongClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pass(t, 4*day) // the last four days now have partitions
	for _, wrong := range []time.Duration{-3 * day, 3 * day} {
		attempts := fmt.Sprintf("attempts %v", wrong)
		w.accept(t, "a", attempts)
		effect := w.dispatch(t, "a", attempts)
		for i, jump := range []time.Duration{0, wrong, -wrong} {
			w.jump(t, jump)
			w.run(t, `UPDATE hooklatch.effects SET next_attempt_at = now() WHERE key = $1`, attempts)
			verdict := ledger.VerdictNotApplied
			if i == 2 {
				verdict = ledger.VerdictRefused
			}
			w.settle(t, ledger.Settlement{Effect: w.claim(t, effect), Verdict: verdict, ResponseStatus: 422, ResponseExcerpt: "canary", Error: "canary"})
		}
		require.NoError(t, w.Ledger().Cancel(t.Context(), effect.IdempotencyKey(), ann))

		replayed := fmt.Sprintf("replayed %v", wrong)
		w.accept(t, "a", replayed)
		w.jump(t, wrong)
		for _, jump := range []time.Duration{-wrong, 0} {
			effect := w.dispatch(t, "a", replayed)
			w.jump(t, jump)
			w.run(t, `UPDATE hooklatch.effects SET next_attempt_at = now() WHERE key = $1`, replayed)
			w.settle(t, ledger.Settlement{Effect: w.claim(t, effect), Verdict: ledger.VerdictDone, ResponseStatus: 200, ResponseExcerpt: "canary"})
			if jump != 0 {
				_, err := w.Inbox().Replay(t.Context(), ref("a", replayed), ann, inbox.ReplayOptions{NewKeys: true})
				require.NoError(t, err)
			}
		}

		for id, effects := range map[string]int{attempts: 1, replayed: 2} {
			came, err := w.Erasure().Event(t.Context(), ref("a", id), ann, erasure.Order{})
			require.NoError(t, err, id)
			require.Equal(t, effects, came.Effects, id)
		}
		require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.attempts WHERE response_excerpt <> '' OR error <> ''`), wrong)
	}
}

func (w *world) redact(t *testing.T) (erasure.Redacted, error) {
	t.Helper()
	return w.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "a", Pointers: []string{"/id"}, After: 7 * day}})
}

// Events that were received while the clock was ahead hold up no other event of any source. They are
// redacted when they are old enough.
func TestRedactionPassesEventsOfTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.done(t, "a", "before")
	w.jump(t, 10*day)
	w.done(t, "a", "ahead")
	w.done(t, "b", "ahead")
	w.jump(t, -10*day)
	w.done(t, "a", "after")
	w.pass(t, 8*day)
	done, err := w.redact(t)
	require.NoError(t, err)
	require.Equal(t, 2, done.Events)
	require.Equal(t, 1, done.Waiting)
	for range 5 {
		require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE redacted_at IS NOT NULL`))
		w.pass(t, 2*day)
		_, err = w.redact(t)
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE redacted_at IS NOT NULL AND source = 'a'`))
}

// A clock that jumps ahead redacts nothing for a day. If it is set right meanwhile, redaction continues
// at once.
func TestAClockThatJumpedRedactsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.done(t, "a", "one")
	run := func(events int) {
		done, err := w.redact(t)
		require.NoError(t, err)
		require.Equal(t, events, done.Events)
	}
	waits := func() {
		done, err := w.redact(t)
		require.ErrorContains(t, err, "redact events of a: more than three days have passed since the last run at ")
		require.Zero(t, done.Events)
	}
	run(0)
	w.pass(t, 9*day)
	waits()
	w.jump(t, -9*day)
	run(0)
	w.pass(t, 9*day)
	waits()
	w.pass(t, day/2)
	waits()
	w.pass(t, day)
	run(1)
}
