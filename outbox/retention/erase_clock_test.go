package retention_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
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
