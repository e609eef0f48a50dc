package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest/fault"
)

// manyFailed makes n failed effects at once, like those of a receiver that
// refused them all, without attempting each.
func (b *bundle) manyFailed(t testing.TB, n int, destination string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `
		SET session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, route, destination, queue, policy, request_type, request_body,
			state, first_attempt_at, attempt, last_attempt_at, response_status, finished_at, error)
		SELECT 'enqueue:`+destination+`', 'k' || i, 1, hooklatch.idempotency_key('enqueue:`+destination+`', 'k' || i, 1), '', '`+destination+`', 'dst_`+destination+`',
			'at_least_once', 'application/json', '{}', 'failed', at, 1, at, 404, at, 'HTTP 404 Not Found'
		FROM generate_series(1, `+strconv.Itoa(n)+`) AS i, now() AS at;
		RESET session_replication_role`)
	require.NoError(t, err)
}

func failedAt(destination string) ledger.EffectSelection {
	return ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectFailed}, Destination: destination}
}

// counted is what a retry of a selection would be done to.
func (b *bundle) counted(t *testing.T, s ledger.EffectSelection) ledger.EffectsPreview {
	t.Helper()
	var seen ledger.EffectsPreview
	err := b.Ledger().EachBatch(t.Context(), ledger.ActionRetryEffect, s, ledger.Place{}, &seen, math.MaxInt,
		func([]ledger.SelectedEffect, ledger.Place) error { return nil })
	require.NoError(t, err)
	return seen
}

// batchSize is how many effects share a transaction of an order about many.
const batchSize = 200

func TestManyAreRetriedInRecordedBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 2*batchSize + 50
	b.manyFailed(t, n, "app")
	b.manyFailed(t, 3, "crm")
	s := failedAt("app")
	counted := b.counted(t, s)
	require.Equal(t, int64(n), counted.Selected)
	require.Empty(t, b.actions(t), "to count changes nothing")

	s.AsOf = counted.AsOf
	var steps []int64
	done, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, because("the route is deployed"), ledger.EffectsPace{
		Progress: func(p ledger.EffectsProgress) { steps = append(steps, p.Changed) },
	})
	require.NoError(t, err)
	require.Equal(t, int64(n), done.Changed)
	require.Equal(t, []int64{200, 400, 450, 450, 450}, steps)
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'pending'`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed'`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.effect_transitions WHERE reason = 'retried by ann: the route is deployed'`))
	log := b.actions(t)
	require.Len(t, log, 3)
	var affected int64
	for _, a := range log {
		affected += a.Affected
		require.Equal(t, log[0].RequestID, a.RequestID, "one order")
		var filter map[string]any
		require.NoError(t, json.Unmarshal(a.Filter, &filter))
		require.Equal(t, "app", filter["destination"])
	}
	require.Equal(t, int64(n), affected)
}

// What may have been applied is nobody's by accident.
func TestInDoubtIsLeftOutUnlessOrderedWithAReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doubted := b.in(t, "doubted", ledger.EffectInDoubt)
	require.NoError(t, b.Ledger().Park(t.Context(), doubted.IdempotencyKey(), ann))
	b.in(t, "plain", ledger.EffectParked)
	s := ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectParked}}

	done, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, ann, ledger.EffectsPace{})
	require.NoError(t, err)
	require.Equal(t, int64(1), done.Changed)
	require.Equal(t, int64(1), done.InDoubt)
	require.Equal(t, ledger.EffectParked, b.effect(t, doubted).State)

	s.InDoubt = true
	_, err = b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, ann, ledger.EffectsPace{})
	require.ErrorContains(t, err, "not taken without a reason")
	done, err = b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, because("they dedup by our key"), ledger.EffectsPace{})
	require.NoError(t, err)
	require.Equal(t, int64(1), done.Changed)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, doubted).State)
}

// A run is about what its preview saw: neither what is made later nor what it
// set going itself and failed again.
func TestTheEndOfASelectionIsFixed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.in(t, "old", ledger.EffectFailed)
	again := b.in(t, "again", ledger.EffectFailed)
	s := ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectFailed}}
	counted := b.counted(t, s)
	require.Equal(t, int64(2), counted.Selected)

	later := b.in(t, "later", ledger.EffectFailed)
	require.NoError(t, b.Ledger().Retry(t.Context(), again.IdempotencyKey(), ann))
	b.settle(t, b.granted(t, again, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, Error: "no"})
	s.AsOf = counted.AsOf
	done, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, ann, ledger.EffectsPace{})
	require.NoError(t, err)
	require.Equal(t, int64(1), done.Changed)
	require.Equal(t, ledger.EffectPending, b.effect(t, old).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, again).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, later).State)
}

func TestASelectionTakesWhatAllItsFieldsName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	from := b.count(t, `SELECT floor(extract(epoch FROM now()))::int`)
	wanted := b.in(t, "wanted", ledger.EffectFailed)
	b.in(t, "other", ledger.EffectFailed)
	b.in(t, "parked", ledger.EffectParked)
	b.manyFailed(t, 1, "crm")
	e := b.effect(t, wanted)
	failed := []ledger.EffectState{ledger.EffectFailed}
	match := func(e *inbox.Event) (bool, error) {
		if e.EventID == "other" {
			return false, errors.New("no such key")
		}
		return true, nil
	}
	for name, c := range map[string]struct {
		s       ledger.EffectSelection
		want    int64
		unclear int64
	}{
		"state":       {ledger.EffectSelection{States: failed}, 3, 0},
		"states":      {ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectFailed, ledger.EffectParked}}, 4, 0},
		"destination": {ledger.EffectSelection{States: failed, Destination: "crm"}, 1, 0},
		"route":       {ledger.EffectSelection{States: failed, Route: e.Route}, 2, 0},
		"source":      {ledger.EffectSelection{States: failed, Source: "stripe"}, 2, 0},
		"no source":   {ledger.EffectSelection{States: failed, Source: "github"}, 0, 0},
		"match":       {ledger.EffectSelection{States: failed, Match: b.Matching(match)}, 1, 1},
		"from":        {ledger.EffectSelection{States: failed, From: e.CreatedAt}, 3, 0},
		"from later":  {ledger.EffectSelection{States: failed, From: e.CreatedAt.Add(time.Microsecond)}, 2, 0},
		"until":       {ledger.EffectSelection{States: failed, Until: e.CreatedAt}, 0, 0},
		"until later": {ledger.EffectSelection{States: failed, From: time.Unix(int64(from), 0), Until: e.CreatedAt.Add(time.Microsecond)}, 1, 0},
	} {
		counted := b.counted(t, c.s)
		require.Equal(t, c.want, counted.Selected, name)
		require.Equal(t, c.unclear, counted.Unclear, name)
	}
	for name, s := range map[string]ledger.EffectSelection{
		"names no state":                     {},
		"not possible for effects that are":  {States: []ledger.EffectState{ledger.EffectDone}},
		"the selection ends before it begin": {States: failed, From: e.CreatedAt, Until: e.CreatedAt},
	} {
		_, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, s, ann, ledger.EffectsPace{})
		require.ErrorContains(t, err, name)
	}
}

// Park and cancel by a selection, and what waited behind goes on.
func TestManyAreParkedAndCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, nil)
	first := 2
	waiting := ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectPending, ledger.EffectStarted}, Match: b.Matching(func(*inbox.Event) (bool, error) {
		first--
		return first >= 0, nil
	})}
	done, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionParkEffect, waiting, because("wait"), ledger.EffectsPace{PerSecond: 100})
	require.NoError(t, err)
	require.Equal(t, int64(2), done.Changed)
	require.Zero(t, b.jobs(t, ids[2]), "a parked one blocks its order")
	done, err = b.Ledger().ActOnEffects(t.Context(), ledger.ActionCancelEffect, ledger.EffectSelection{States: []ledger.EffectState{ledger.EffectParked}}, ann, ledger.EffectsPace{})
	require.NoError(t, err)
	require.Equal(t, int64(2), done.Changed)
	require.Equal(t, ledger.EffectCancelled, b.effect(t, ids[1]).State)
	require.Equal(t, 1, b.jobs(t, ids[2]))
}

// An order that is interrupted between two batches is ended by repeating it.
func TestAnInterruptedOrderGoesOnWithTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.manyFailed(t, 3*batchSize, "app")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	done, err := b.Ledger().ActOnEffects(ctx, ledger.ActionRetryEffect, failedAt("app"), ann, ledger.EffectsPace{Progress: func(ledger.EffectsProgress) { interrupt() }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(batchSize), done.Changed)
	rest := failedAt("app")
	rest.AsOf = done.AsOf
	done, err = b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, rest, ann, ledger.EffectsPace{})
	require.NoError(t, err)
	require.Equal(t, int64(2*batchSize), done.Changed)
	require.Equal(t, 3*batchSize, b.count(t, `SELECT sum(affected) FROM hooklatch.operator_log`))
}

func TestABatchSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			sound.manyFailed(t, 10, "app")
			f.Arm(mode, 1)
			done, err := b.Ledger().ActOnEffects(t.Context(), ledger.ActionRetryEffect, failedAt("app"), ann, ledger.EffectsPace{})
			require.NoError(t, err)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.Equal(t, int64(10), done.Changed)
			require.Len(t, sound.actions(t), 1)
			require.Equal(t, 10, sound.count(t, `SELECT count(*) FROM hooklatch.effect_transitions`))
		})
	}
}

// A person may name the key that a receiver logged.
func TestARotatedKeyIsUnderstood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.in(t, "evt_1", ledger.EffectFailed)
	require.NoError(t, b.Ledger().Retry(t.Context(), id.IdempotencyKey()+"_2", ann))
	require.Equal(t, ledger.EffectPending, b.effect(t, id).State)
	require.Equal(t, id.IdempotencyKey(), b.actions(t)[0].Target)
}
