package erasure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// An erased event is still recognised as a duplicate, and no more work is done for it.
func TestErasedEventsStayDuplicates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Jane"}`)
	require.Equal(t, erasure.Erased{Effects: 1}, b.erase(t, "evt_1"))

	e := b.event(t, "evt_1")
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.Empty(t, e.Body)
	require.Empty(t, e.Headers)
	require.Equal(t, "erased by ann", e.Error)
	require.WithinDuration(t, time.Now(), e.ErasedAt, time.Minute)

	came := b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_1": ""})
	require.Equal(t, outbox.Duplicate, came.Events[0].Status)
	_, err := b.Inbox().Replay(t.Context(), ref("evt_1"), ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)
	require.ErrorContains(t, err, "its content was erased on ")
	require.Zero(t, b.selected(t, runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Source: "shop"}}))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'event.erase' AND target = 'shop/evt_1' AND who = 'ann'`))

	_, err = b.Erasure().Event(t.Context(), ref("evt_9"), ann, erasure.Order{})
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// Within the content window, an event with another id and the content of an erased event is a
// duplicate of the erased event. Otherwise the erased data would be stored again, and effects that
// are done would be done twice.
func TestErasedEventsStayDuplicatesByContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	accept := func(id string) outbox.AcceptedEvent {
		came, err := b.Accept(t.Context(), outbox.Delivery{
			Source: "shop", Provider: "hmac", ContentType: "application/json", Body: []byte(`{"name":"Jane"}`), ContentWindow: time.Hour,
			Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "x"}},
		})
		require.NoError(t, err)
		return came.Events[0]
	}
	require.Equal(t, outbox.Accepted, accept("evt_1").Status)
	_, err := b.Erasure().Event(t.Context(), ref("evt_1"), ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	copied := accept("evt_2")
	require.Equal(t, outbox.Duplicate, copied.Status)
	require.EqualValues(t, "evt_1", copied.SameAs)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.deliveries WHERE convert_from(body, 'UTF8') LIKE '%Jane%'`))
}

func TestEffectsOfErasedEventsAreNotRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{}`, map[string]string{"evt_1": ""})
	effect := b.dispatch(t, "evt_1", "k")[0]
	b.settle(t, b.claim(t, effect), ledger.VerdictRefused)
	b.erase(t, "evt_1")
	err := b.Ledger().Retry(t.Context(), effect.IdempotencyKey(), ann)
	require.ErrorContains(t, err, "the request of the effect is erased by ann: there is nothing to send")
	require.Zero(t, b.selected(t, runs.Order{
		Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}},
	}))
}

// Retention keeps effects longer than their events. While the event is stored, its erasure reaches its
// effects. Afterwards each effect is erased by its key.
func TestAnEffectWhoseEventHasExpiredIsErasedAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Jane"}`)
	effect := identity.EffectID{Scope: identity.ScopeOfRoute("shop", "all"), Key: "evt_1", Generation: 1}
	_, err := b.Erasure().Effect(t.Context(), effect.IdempotencyKey(), ann, erasure.Order{})
	require.ErrorContains(t, err, "it was created by event shop/evt_1: erase the event to erase its effects too")
	b.exec(t, `DELETE FROM hooklatch.processed_events`)
	_, err = b.Erasure().Effect(t.Context(), effect.IdempotencyKey(), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE erased_at IS NOT NULL AND response_excerpt = ''`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.attempts WHERE response_excerpt = ''`))

	// The event arrives again, and creates nothing: its erasure would not reach the effect.
	b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_1": ""})
	again, err := b.Erasure().Effect(t.Context(), effect.IdempotencyKey(), ann, erasure.Order{})
	require.NoError(t, err)
	require.True(t, again.Again)
}

// selected returns the number of events or effects that a run would select.
func (b *bundle) selected(t *testing.T, order runs.Order) int64 {
	t.Helper()
	v, err := b.Runs().Preview(t.Context(), order, runs.Bite{})
	require.NoError(t, err)
	return v.Selected
}

// If other events need the body, only the event's own part is erased.
func TestOnlyTheEventsPartOfABodyGoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body = "[ {\"name\" : \"Jane\"},\n\t{\"name\":\"J\\u006fe\", \"n\":1e2 } ,{\"x\":[]}]"
	b.accept(t, body, map[string]string{"a": "/0", "b": "/1", "c": "/2"})
	b.done(t, "other", `{}`) // an event of another delivery, with a sequence number nearby
	for _, id := range []string{"a", "b", "c"} {
		b.dispatch(t, id)
	}
	require.Equal(t, erasure.Erased{Others: 2}, b.erase(t, "a"))
	require.Equal(t, "[ null,\n\t{\"name\":\"J\\u006fe\", \"n\":1e2 } ,{\"x\":[]}]", string(b.event(t, "b").Body))
	require.Equal(t, `{"name":"J\u006fe", "n":1e2 }`, string(b.event(t, "b").Payload()))
	require.NotEmpty(t, b.event(t, "b").Headers)
	require.Equal(t, erasure.Erased{Others: 2, Again: true}, b.erase(t, "a"))
	require.Equal(t, erasure.Erased{Others: 1}, b.erase(t, "c"))
	require.Equal(t, `{"name":"J\u006fe", "n":1e2 }`, string(b.event(t, "b").Payload()))
	require.Equal(t, erasure.Erased{}, b.erase(t, "b"))
	require.Empty(t, b.event(t, "b").Body)
	require.Empty(t, b.event(t, "b").Headers)
	require.Equal(t, "{}", string(b.event(t, "other").Body))
}

// Parts that overlap are erased with the last of their events.
func TestABodyThatIsAllOfSeveralEventsGoesWithTheLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"a": "", "b": ""})
	b.dispatch(t, "a")
	b.dispatch(t, "b")
	require.Equal(t, erasure.Erased{Others: 1, Remains: true}, b.erase(t, "a"))
	require.NotEmpty(t, b.event(t, "b").Body)
	require.Equal(t, erasure.Erased{}, b.erase(t, "b"))
	require.Empty(t, b.event(t, "a").Body)
}

// The sequence numbers of a large delivery's events are interleaved with the sequence numbers of
// other deliveries' events.
func TestTheOthersOfADeliveryAreFoundAmongStrangers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	items := make(map[string]string)
	for i := range 30 {
		items[fmt.Sprintf("e%d", i)] = fmt.Sprintf("/%d", i)
	}
	b.accept(t, "[1"+strings.Repeat(",1", 29)+"]", items)
	b.exec(t, `UPDATE hooklatch.processed_events SET outcome = 'skipped', accept_seq = 5000 + accept_seq * 100`)
	b.exec(t, `INSERT INTO hooklatch.processed_events
			(source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue)
		SELECT 'x', 's' || n, n::bigint, gen_random_uuid(), 'p', 't', now() - interval '1 hour', gen_random_uuid(), '', 'dispatch'
		FROM generate_series(1, 12000) AS n WHERE n < 5000 OR n % 100 <> 0`)
	require.Equal(t, 29, b.erase(t, "e7").Others)
	require.Equal(t, 28, b.erase(t, "e29").Others)
}

func TestUnfinishedWorkIsRefusedUnlessItIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"received": ""})
	b.accept(t, `{"name":"Jane"}`, map[string]string{"pending": ""})
	effects := b.dispatch(t, "pending", "k1", "k2", "k3")
	started := b.claim(t, effects[1])
	require.NoError(t, b.Ledger().Park(t.Context(), effects[2].IdempotencyKey(), ann))

	for id, want := range map[string]string{"received": "not finished: the event is received", "pending": "not finished: 3 effects are parked or pending or started"} {
		_, err := b.Erasure().Event(t.Context(), ref(id), ann, erasure.Order{})
		require.ErrorContains(t, err, want)
		require.NotEmpty(t, b.event(t, id).Body)
		_, err = b.Erasure().Event(t.Context(), ref(id), ann, erasure.Order{Cancel: true})
		require.NoError(t, err)
		require.Empty(t, b.event(t, id).Body)
	}
	require.Equal(t, inbox.Dropped, b.event(t, "received").Outcome)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'cancelled' AND erased_at IS NOT NULL`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))

	// An attempt that is still running stores no data when it ends.
	require.True(t, b.settle(t, started, ledger.VerdictDone).Late)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE response_excerpt <> ''`))
	require.ErrorContains(t, b.Inbox().Release(t.Context(), ref("received"), ann), "its content was erased on ")
	found, err := b.Reconcile(t.Context())
	require.NoError(t, err)
	require.Zero(t, found)
}

// A dispatch that read the event before it was erased does not pass the fence.
func TestADispatchThatIsUnderWayWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_1": ""})
	e := b.event(t, "evt_1")
	_, err := b.Erasure().Event(t.Context(), ref("evt_1"), ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	d, err := b.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: []ledger.NewEffect{{
		EffectID: identity.EffectID{Scope: "route:shop:all", Key: "k", Generation: 1}, Destination: "app", Queue: "dst_app",
		Request: ledger.Request{Body: e.Body},
	}}})
	require.NoError(t, err)
	require.False(t, d.Fenced)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// An uncommitted replay reopens the event. An erasure waits for the replay, and is then refused.
func TestAnErasureWaitsForAReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Jane"}`)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = b.Inbox().ReplayTx(t.Context(), tx, ref("evt_1"), ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := b.Erasure().Event(t.Context(), ref("evt_1"), ann, erasure.Order{})
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) == 1
	}, 2*time.Minute, time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorContains(t, <-ended, "not finished: the event is received")
	require.JSONEq(t, `{"name":"Jane"}`, string(b.event(t, "evt_1").Body))
}

// The SQL function itself refuses unfinished effects, because roles other than the program's may
// call it.
func TestNoUnfinishedEffectIsErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_1": ""})
	for _, id := range b.dispatch(t, "evt_1", "k1") {
		_, err := b.pool.Exec(t.Context(), `SELECT hooklatch.erase_effect($1, $2, $3, 'erased')`, id.Scope, id.Key, id.Generation)
		require.ErrorContains(t, err, "is not there, or not finished")
		b.settle(t, b.claim(t, id), ledger.VerdictDone)
		b.exec(t, `SELECT hooklatch.erase_effect($1, $2, $3, 'erased')`, id.Scope, id.Key, id.Generation)
	}
}

// Effects that an earlier event created do not belong to the later event.
func TestEffectsOfAnEarlierEventStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Joe"}`)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_2": ""})
	b.dispatch(t, "evt_2", "evt_1")
	require.Equal(t, erasure.Erased{}, b.erase(t, "evt_2"))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE response_excerpt = 'hello Jane'`))
	require.Equal(t, erasure.Erased{Effects: 1}, b.erase(t, "evt_1"))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE response_excerpt = 'hello Jane'`))
}

// A restored database contains erased content again. Erasing the event again removes the content.
func TestErasingAgainTakesWhatARestoreBrought(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Jane"}`)
	b.erase(t, "evt_1")
	first := b.event(t, "evt_1").ErasedAt
	b.exec(t, `UPDATE hooklatch.deliveries SET body = '{"name":"Jane"}'`)
	b.exec(t, `UPDATE hooklatch.attempts SET error = 'Jane'`)
	require.True(t, b.erase(t, "evt_1").Again)
	require.Empty(t, b.event(t, "evt_1").Body)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.attempts WHERE error <> ''`))
	require.Equal(t, first, b.event(t, "evt_1").ErasedAt)
}

func TestIdsAndKeysThatStayAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"mail":"Jane@example.com","tel":"+4912345678"}`, map[string]string{"mail-jane@example.com": ""})
	b.dispatch(t, "mail-jane@example.com", "+4912345678/x", "nothing")
	searched := []string{"body", "of the caller"}
	erased, err := b.Erasure().Event(t.Context(), ref("mail-jane@example.com"), ann, erasure.Order{Cancel: true, Searched: searched[:1]})
	require.NoError(t, err)
	require.Equal(t, []string{"body", "of the caller"}, searched, "texts of the event were written to the caller's slice")
	require.Equal(t, []erasure.Kept{{"event id", "mail-jane@example.com"}, {"key of effect", "+4912345678/x"}}, erased.Kept)
}

func TestEnqueuedEffectsAreErasedByTheirKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('mail', 'http', 'dst_mail', '')`)
	b.exec(t, `SELECT hooklatch.enqueue('mail', 'welcome-42', '{"name":"Jane"}', '{"X-Name":"Jane"}')`)
	key := identity.EffectID{Scope: identity.ScopeOfEnqueue("mail"), Key: "welcome-42", Generation: 1}.IdempotencyKey()
	_, err := b.Erasure().Effect(t.Context(), key, ann, erasure.Order{})
	require.ErrorContains(t, err, "not finished: 1 effect is pending")
	_, err = b.Erasure().Effect(t.Context(), key, ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	e, err := b.Ledger().Effect(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, ledger.EffectCancelled, e.State)
	require.Equal(t, "erased by ann", e.Error)
	require.Empty(t, e.Request.Headers)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE octet_length(request_body) > 0`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
	b.exec(t, `SELECT hooklatch.enqueue('mail', 'welcome-42', '{"name":"Jane"}')`)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))

	b.done(t, "evt_1", `{}`)
	of := identity.EffectID{Scope: "route:shop:all", Key: "evt_1", Generation: 1}
	_, err = b.Erasure().Effect(t.Context(), of.IdempotencyKey(), ann, erasure.Order{})
	require.ErrorContains(t, err, "it was created by event shop/evt_1: erase the event")
}

// The last of several concurrent erasures sees that no other event is left.
func TestConcurrentErasuresEmptyTheDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const events = 8
	items := make(map[string]string)
	for i := range events {
		items[fmt.Sprintf("e%d", i)] = fmt.Sprintf("/%d", i)
	}
	b.accept(t, `["a","b","c","d","e","f","g","h"]`, items)
	b.exec(t, `UPDATE hooklatch.processed_events SET outcome = 'skipped'`)
	ended := make(chan error, events)
	for id := range items {
		go func() {
			_, err := b.Erasure().Event(t.Context(), ref(id), ann, erasure.Order{})
			ended <- err
		}()
	}
	for range events {
		require.NoError(t, <-ended)
	}
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.deliveries WHERE body = '' AND headers = '{}' AND content_type = ''`))
}

// The erasing role cannot write to the tables: it erases through SQL functions only.
func TestErasureNeedsNoRightToTheTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", `{"name":"Jane"}`)
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		for _, query := range []string{
			`CREATE ROLE hooklatch_erasure_test`,
			`GRANT USAGE ON SCHEMA hooklatch TO hooklatch_erasure_test`,
			`GRANT EXECUTE ON FUNCTION hooklatch.erase_event, hooklatch.stored_delivery, hooklatch.blot_delivery TO hooklatch_erasure_test`,
			`SET LOCAL ROLE hooklatch_erasure_test`,
		} {
			if _, err := tx.Exec(t.Context(), query); err != nil {
				return err
			}
		}
		for _, query := range []string{`UPDATE hooklatch.deliveries SET body = ''`, `SELECT hooklatch.empty_delivery(gen_random_uuid(), now(), '')`} {
			err := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), query)
				return err
			})
			require.ErrorContains(t, err, "permission denied")
		}
		if _, err := tx.Exec(t.Context(), `SELECT * FROM hooklatch.erase_event('shop', 'evt_1', 'erased by ann', false)`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `RESET ROLE; DROP OWNED BY hooklatch_erasure_test; DROP ROLE hooklatch_erasure_test`)
		return err
	})
	require.NoError(t, err)
	require.Empty(t, b.event(t, "evt_1").Body)
}

// The result in the operator log has the singular form for one effect or one event.
func TestAnErasureCountsOneThingInTheSingular(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]erasure.Erased{
		"1 effect erased with it, 1 other event of its delivery remains":                      {Effects: 1, Others: 1},
		"2 effects erased with it, 2 other events of its delivery remain with the whole body": {Effects: 2, Others: 2, Remains: true},
		"0 effects erased with it, again":                                                     {Again: true},
	} {
		require.Equal(t, want, r.String())
	}
}
