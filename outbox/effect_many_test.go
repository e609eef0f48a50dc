package outbox

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// manyFailed inserts n effects in the state failed. They look as if a receiver had refused them,
// but none was attempted.
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

func failedAt(destination string) find.Effects {
	return find.Effects{States: []ledger.EffectState{ledger.EffectFailed}, Destination: destination}
}

// batchSize is the number of effects that share a transaction of a run.
const batchSize = 200

// through begins a run and processes it to its end.
func (b *bundle) through(t *testing.T, r *runs.Runs, o runs.Order, by ledger.Operator) runs.Run {
	t.Helper()
	run, err := r.Through(t.Context(), o, by, nil)
	require.NoError(t, err)
	return run
}

// A run excludes effects that may have been applied, unless the operator includes them and gives a
// reason.
func TestInDoubtIsLeftOutUnlessOrderedWithAReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doubted := b.in(t, "doubted", ledger.EffectInDoubt)
	require.NoError(t, b.Ledger().Park(t.Context(), doubted.IdempotencyKey(), ann))
	b.in(t, "plain", ledger.EffectParked)
	o := runs.Order{Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectParked}}}

	done := b.through(t, b.Runs(), o, ann)
	require.Equal(t, runs.Counts{Selected: 1, Changed: 1, InDoubt: 1}, done.Counts)
	require.Equal(t, ledger.EffectParked, b.effect(t, doubted).State)

	o.InDoubt = true
	_, err := b.Runs().Begin(t.Context(), o, ann)
	require.ErrorContains(t, err, "a reason is required")
	done = b.through(t, b.Runs(), o, because("they dedup by our key"))
	require.Equal(t, int64(1), done.Changed)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, doubted).State)
}

// A run covers the effects that its preview saw. It excludes effects that were created after the
// preview, and effects that failed again because an operator retried them after the preview.
func TestTheEndOfASelectionIsFixed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.in(t, "old", ledger.EffectFailed)
	again := b.in(t, "again", ledger.EffectFailed)
	o := runs.Order{Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}}}
	counted, err := b.Runs().Preview(t.Context(), o, runs.Bite{})
	require.NoError(t, err)
	require.Equal(t, int64(2), counted.Selected)

	later := b.in(t, "later", ledger.EffectFailed)
	require.NoError(t, b.Ledger().Retry(t.Context(), again.IdempotencyKey(), ann))
	b.settle(t, b.granted(t, again, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, Error: "no"})
	require.Equal(t, int64(1), b.through(t, b.Runs(), counted.Order, ann).Changed)
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
	r := b.deciding(func(e *inbox.Event) (bool, error) {
		if e.EventID == "other" {
			return false, errors.New("no such key")
		}
		return true, nil
	})
	then := func(since, until time.Time) find.Effects {
		return find.Effects{States: failed, Span: find.Span{Since: since, Until: until}}
	}
	for name, c := range map[string]struct {
		asked   find.Effects
		want    int64
		unclear int64
	}{
		"state":       {find.Effects{States: failed}, 3, 0},
		"states":      {find.Effects{States: []ledger.EffectState{ledger.EffectFailed, ledger.EffectParked}}, 4, 0},
		"destination": {find.Effects{States: failed, Destination: "crm"}, 1, 0},
		"route":       {find.Effects{States: failed, Route: e.Route}, 2, 0},
		"source":      {find.Effects{States: failed, Source: "stripe"}, 2, 0},
		"no source":   {find.Effects{States: failed, Source: "github"}, 0, 0},
		"policy":      {find.Effects{States: failed, Policy: ledger.AtLeastOnce}, 3, 0},
		"no policy":   {find.Effects{States: failed, Policy: ledger.AtMostOnce}, 0, 0},
		"match":       {find.Effects{States: failed, Content: find.Content{When: "matches"}}, 1, 1},
		"since":       {then(e.CreatedAt, time.Time{}), 3, 0},
		"since later": {then(e.CreatedAt.Add(time.Microsecond), time.Time{}), 2, 0},
		"until":       {then(time.Time{}, e.CreatedAt), 0, 0},
		"until later": {then(time.Unix(int64(from), 0), e.CreatedAt.Add(time.Microsecond)), 1, 0},
	} {
		counted, err := r.Preview(t.Context(), runs.Order{Action: ledger.ActionRetryEffect, Effects: c.asked}, runs.Bite{})
		require.NoError(t, err)
		require.Equal(t, c.want, counted.Selected, name)
		require.Equal(t, c.unclear, counted.Unclear, name)
	}
	for name, asked := range map[string]find.Effects{
		"names no state":                    {},
		"not possible for effects that are": {States: []ledger.EffectState{ledger.EffectDone}},
		"the selection contains no time: its end must be after its beginning": then(e.CreatedAt, e.CreatedAt),
		"cannot select the effects of one event":                              {States: failed, Event: e.Event},
	} {
		_, err := r.Begin(t.Context(), runs.Order{Action: ledger.ActionRetryEffect, Effects: asked}, ann)
		require.ErrorContains(t, err, name)
	}
}

// Selected effects are parked and then cancelled. Only the cancellation lets the effect behind them
// continue.
func TestManyAreParkedAndCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, nil)
	last := "evt_2"
	r := b.deciding(func(e *inbox.Event) (bool, error) { return string(e.EventID) != last, nil })
	waiting := find.Effects{States: []ledger.EffectState{ledger.EffectPending, ledger.EffectStarted}, Content: find.Content{When: "it is not the last"}}
	require.Equal(t, int64(2), b.through(t, r, runs.Order{Action: ledger.ActionParkEffect, Effects: waiting, PerSecond: 100}, because("wait")).Changed)
	require.Zero(t, b.jobs(t, ids[2]), "a parked effect blocks its order")
	parked := find.Effects{States: []ledger.EffectState{ledger.EffectParked}}
	require.Equal(t, int64(2), b.through(t, r, runs.Order{Action: ledger.ActionCancelEffect, Effects: parked}, ann).Changed)
	require.Equal(t, ledger.EffectCancelled, b.effect(t, ids[1]).State)
	require.Equal(t, 1, b.jobs(t, ids[2]))
}

// An operator may enter the key that a receiver logged.
func TestARotatedKeyIsUnderstood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.in(t, "evt_1", ledger.EffectFailed)
	require.NoError(t, b.Ledger().Retry(t.Context(), id.IdempotencyKey()+"_2", ann))
	require.Equal(t, ledger.EffectPending, b.effect(t, id).State)
	require.Equal(t, id.IdempotencyKey(), b.actions(t)[0].Target)
}
