package retention_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// The statements in pauses create a trigger function, which waits while a row in clock.pause contains
// the trigger's argument.
const pauses = `
	CREATE TABLE clock.pause (what text);
	CREATE FUNCTION clock.wait() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		WHILE EXISTS (SELECT FROM clock.pause WHERE what = TG_ARGV[0]) LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN COALESCE(NEW, OLD);
	END
	$$;`

// paused waits until the given number of triggers wait.
func (w *world) paused(t *testing.T, triggers int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`) == triggers
	}, 2*time.Minute, time.Millisecond)
}

// keptForAnother accepts a delivery of two events, and lets its day expire. Only the event "waits"
// needs the delivery; the effect of "done" has ended. The results are the effect of "waits" and the
// delivery's body.
func (w *world) keptForAnother(t *testing.T, settings retention.Settings) (waits identity.EffectID, body []byte) {
	t.Helper()
	body = bodyOf("both")
	_, err := w.Accept(t.Context(), outbox.Delivery{
		Source: "a", Provider: "hmac", ContentType: "application/json", Body: body,
		Events: []outbox.Incoming{{ID: "waits", Type: "happened"}, {ID: "done", Type: "happened"}},
	})
	require.NoError(t, err)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, "a", "done")), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	waits = w.dispatch(t, "a", "waits")
	for range 3 {
		w.pass(t, day)
		w.keep(t, settings)
	}
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
	return waits, body
}

// One of a delivery's two events needed the delivery for longer. The other event is replayed at the
// moment when the delivery is deleted: the event has its body, or the replay is refused.
func TestAReplayBesideTheEndOfItsDeliveryHasABodyOrIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Payloads: day}
	waits, body := w.keptForAnother(t, settings)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, waits), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	w.pass(t, day)
	w.run(t, pauses)
	w.run(t, `INSERT INTO clock.pause VALUES ('delete')`)
	w.run(t, `CREATE TRIGGER slowly BEFORE DELETE ON hooklatch.deliveries_kept FOR EACH ROW EXECUTE FUNCTION clock.wait('delete')`) // at this point, the DELETE has locked the row

	ended := make(chan error, 1)
	go func() {
		_, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings})
		ended <- err
	}()
	w.paused(t, 1)
	replayed := make(chan error, 1)
	go func() {
		_, err := w.Inbox().Replay(t.Context(), ref("a", "done"), ann, inbox.ReplayOptions{})
		replayed <- err
	}()
	isBlocked := `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
	require.Eventually(t, func() bool { return len(replayed) == 1 || w.count(t, isBlocked) > 0 }, 2*time.Minute, time.Millisecond)
	w.run(t, `DELETE FROM clock.pause`)
	err := <-replayed
	require.NoError(t, <-ended)
	if err == nil {
		require.Equal(t, body, w.loaded(t, "a", "done").Body, "the event waits for its dispatch, but its delivery is missing")
		return
	}
	require.True(t, errors.Is(err, inbox.ErrNotReplayable), err)
	require.ErrorContains(t, err, "has expired")
}

// A replayed event keeps the delivery that was kept for another event.
func TestAReplayKeepsTheDeliveryThatIsKeptForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Payloads: day}
	waits, body := w.keptForAnother(t, settings)
	_, err := w.Inbox().Replay(t.Context(), ref("a", "done"), ann, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, waits), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	w.pass(t, day)
	w.keep(t, settings)
	require.Equal(t, body, w.loaded(t, "a", "done").Body)
}

// A held event that was dropped can be released while its delivery is stored.
func TestWhatWasDroppedIsReleasedWhileItsDeliveryIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Payloads: day}
	w.accept(t, "a", "young", "old")
	w.run(t, `UPDATE hooklatch.processed_events SET outcome = 'held'`)
	for _, id := range []string{"young", "old"} {
		require.NoError(t, w.Inbox().Drop(t.Context(), ref("a", id), ann))
	}
	require.NoError(t, w.Inbox().Release(t.Context(), ref("a", "young"), ann))
	for range 3 {
		w.pass(t, day)
		w.keep(t, settings)
	}
	err := w.Inbox().Release(t.Context(), ref("a", "old"), ann)
	require.ErrorIs(t, err, inbox.ErrNotHeld)
	require.ErrorContains(t, err, "has expired")
	require.Equal(t, bodyOf("young"), w.loaded(t, "a", "young").Body)
}

// A dispatch began before the waiting effects were read, and ends afterwards. Its effects keep
// the event, which has expired.
func TestADispatchBesideTheReadingOfNeedsKeepsItsEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}}
	w.accept(t, "a", "gate")
	gate := w.dispatch(t, "a", "gate")
	w.pass(t, day)
	w.done(t, "a", "late")
	w.pass(t, 4*day+day/2)
	_, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings, Approved: &ann})
	require.NoError(t, err)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.events_kept`))
	w.settle(t, ledger.Settlement{Effect: w.claim(t, gate), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	w.pass(t, day)
	_, err = w.Inbox().Replay(t.Context(), ref("a", "late"), ann, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)

	w.run(t, pauses)
	w.run(t, `INSERT INTO clock.pause VALUES ('gate'), ('late')`)
	w.run(t, `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON hooklatch.effects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION clock.wait('late')`)
	w.run(t, `CREATE TRIGGER gate BEFORE DELETE ON hooklatch.processed_events FOR EACH ROW WHEN (OLD.event_id = 'gate') EXECUTE FUNCTION clock.wait('gate')`)
	dispatched := make(chan identity.EffectID, 1)
	go func() { dispatched <- w.dispatch(t, "a", "late") }()
	w.paused(t, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings})
		ended <- err
	}()
	w.paused(t, 2) // the needs were read, without the needs of the dispatch
	w.run(t, `DELETE FROM clock.pause WHERE what = 'late'`)
	made := <-dispatched
	w.run(t, `DELETE FROM clock.pause`)
	require.NoError(t, <-ended)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'gate'`))
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'late'`))
	require.Equal(t, bodyOf("late"), w.claim(t, made).Request.Body)
}
