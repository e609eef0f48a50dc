package erasure_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Retention dropped a day, but kept deliveries that unfinished work needs. An erasure reaches these
// deliveries too.
func TestAnErasureReachesADeliveryOfADayThatIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `[{"name": "Jane"}, {"name":"Joe"}]`, map[string]string{"jane": "/0", "joe": "/1"})
	b.dispatch(t, "jane")
	b.dispatch(t, "joe")
	b.exec(t, `INSERT INTO hooklatch.deliveries_kept (delivery_id, received_at, source, headers, content_type, body, kept_for)
		SELECT delivery_id, received_at, source, headers, content_type, body, '{}' FROM hooklatch.deliveries`)
	b.exec(t, `DELETE FROM hooklatch.deliveries`)

	require.Equal(t, 1, b.erase(t, "jane").Others)
	require.Equal(t, `[null, {"name":"Joe"}]`, string(b.event(t, "joe").Body))
	require.Zero(t, b.erase(t, "joe").Others)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept WHERE body = '' AND headers = '{}' AND content_type = ''`))
}

// Retention copies the required rows of a day that it has detached from its table. Until retention
// has finished, the database refuses an erasure, which would miss the copy.
func TestAnErasureWaitsForRetention(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{"deliveries", "links", "attempts", "transitions", "search_values"} {
		t.Run(whole, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.done(t, "evt_1", `{"name":"Jane"}`)
			var part, from, until string
			require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT $1 || '_' || to_char(day, 'YYYYMMDD'), day::text || ' 00:00Z', (day + 1)::text || ' 00:00Z'
				FROM (SELECT (received_at AT TIME ZONE 'UTC')::date AS day FROM hooklatch.processed_events) AS e`, whole).Scan(&part, &from, &until))
			b.exec(t, `ALTER TABLE hooklatch.`+whole+` DETACH PARTITION hooklatch.`+part)
			_, err := b.Erasure().Event(t.Context(), ref("evt_1"), ann, erasure.Order{})
			require.ErrorIs(t, err, commit.ErrUnavailable)
			_, err = b.pool.Exec(t.Context(), `SELECT hooklatch.erase_event(source, event_id, '', false) FROM hooklatch.processed_events`)
			require.ErrorContains(t, err, "retention is at a day of the content that is to go")
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE erased_at IS NOT NULL`))

			b.exec(t, `ALTER TABLE hooklatch.`+whole+` ATTACH PARTITION hooklatch.`+part+` FOR VALUES FROM ('`+from+`') TO ('`+until+`')`)
			b.erase(t, "evt_1")
			require.Empty(t, b.event(t, "evt_1").Body)
		})
	}
}

// refused puts a request into quarantine.
func (b *bundle) refused(t *testing.T, source, body string) {
	t.Helper()
	b.exec(t, `INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, known, method, host, secure, target, headers, body, bytes)
		VALUES (gen_random_uuid(), $1, now(), 'wrong_signature', true, 'POST', 'localhost', true, '/webhooks/shop', '{}', convert_to($2, 'UTF8'), 300)`, source, body)
}

// A gateway may refuse a delivery before it accepts the same body, or at a redelivery. The refused
// delivery is then a full or partial copy of the erased or redacted data.
func TestCopiesInQuarantineGoWithTheBody(t *testing.T) {
	t.Parallel()
	const shared, jane = `[{"name": "Jane"}, {"name":"Joe"}]`, `{"name":"Jane"}`
	for name, c := range map[string]struct {
		body  string
		items map[string]string
		erase func(t *testing.T, b *bundle)
	}{
		"of one event": {jane, map[string]string{"jane": ""}, func(t *testing.T, b *bundle) { t.Helper(); b.erase(t, "jane") }},
		"of one event of several": {
			shared, map[string]string{"jane": "/0", "joe": "/1"}, func(t *testing.T, b *bundle) { t.Helper(); b.erase(t, "jane") },
		},
		"of an event whose body retention has deleted": {jane, map[string]string{"jane": ""}, func(t *testing.T, b *bundle) {
			t.Helper()
			b.exec(t, `DELETE FROM hooklatch.deliveries`)
			b.erase(t, "jane")
		}},
		"of values that are redacted": {jane, map[string]string{"jane": ""}, func(t *testing.T, b *bundle) {
			t.Helper()
			done, err := b.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "shop", Pointers: []string{"/name"}}})
			require.NoError(t, err)
			require.Equal(t, 1, done.Events)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.accept(t, c.body, c.items)
			for id := range c.items {
				b.dispatch(t, id)
			}
			b.refused(t, "shop", c.body)
			b.refused(t, "shop", `{"name":"Jim"}`)
			b.refused(t, "other", c.body)
			c.erase(t, b)
			require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`), "the deliveries with another body and from another source stay")
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE source = 'shop' AND body = convert_to($1, 'UTF8')`, c.body))
		})
	}
}

// An imported event has no stored data except its key.
func TestAnImportedKeyIsErasedWithoutADelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var keys []inbox.ImportedKey
	for _, id := range []identity.EventID{"jane", "joe"} {
		keys = append(keys, inbox.ImportedKey{EventID: id, ReceivedAt: time.Now().Add(-time.Hour)})
	}
	_, err := b.Inbox().ImportKeys(t.Context(), "shop", keys, ann, nil)
	require.NoError(t, err)
	require.Equal(t, erasure.Erased{}, b.erase(t, "jane"), "an event without a delivery has no other events in it")
	require.Equal(t, outbox.Duplicate, b.accept(t, `{}`, map[string]string{"jane": ""}).Events[0].Status)
}

// bring accepts a body whose events are given as pairs of id and item. An id may occur more than
// once.
func (b *bundle) bring(t *testing.T, body string, events ...string) {
	t.Helper()
	d := outbox.Delivery{Source: "shop", Provider: "hmac", ContentType: "application/json", Body: []byte(body), Headers: map[string][]string{"X-Test": {"one"}}}
	for i := 0; i < len(events); i += 2 {
		d.Events = append(d.Events, outbox.Incoming{ID: identity.EventID(events[i]), Type: "order.paid", Item: events[i+1]})
	}
	before := b.count(t, `SELECT COALESCE(sum(duplicates), 0)::bigint FROM hooklatch.processed_events`)
	came, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	known := map[identity.EventID]bool{}
	for _, e := range came.Events {
		if e.Status == outbox.Duplicate && !known[e.EventID] {
			before++
		}
		known[e.EventID] = true
	}
	accepted := time.Now()
	require.Eventually(t, func() bool { // duplicates are counted after the response; a busy machine may lose the count
		if time.Since(accepted) > 10*time.Second {
			_, err := b.Accept(t.Context(), d)
			require.NoError(t, err)
			accepted = time.Now()
		}
		return b.count(t, `SELECT COALESCE(sum(duplicates), 0)::bigint FROM hooklatch.processed_events`) >= before
	}, 2*time.Minute, 10*time.Millisecond)
}

// Events occur twice in a delivery, and again in a delivery of new events. Erasure and
// redaction reach each copy, and leave the parts of other events.
func TestCopiesInDeliveriesOfSeveralEventsGo(t *testing.T) {
	t.Parallel()
	const jane, joe, jim = `{"email":"jane@example.com"}`, `{"email":"joe@example.com"}`, `{"email":"jim@example.com"}`
	for name, c := range map[string]struct {
		bring func(t *testing.T, b *bundle)
		want  []string // bodies that stay, except empty bodies
	}{
		"twice in one": {func(t *testing.T, b *bundle) {
			t.Helper()
			b.bring(t, `[`+jane+`,`+jane+`,`+joe+`]`, "jane", "/0", "jane", "/1", "joe", "/2")
		}, []string{`[null,null,` + joe + `]`}},
		"again beside a new one": {func(t *testing.T, b *bundle) {
			t.Helper()
			b.bring(t, `[`+jane+`]`, "jane", "/0")
			b.bring(t, `[`+jane+`,`+joe+`]`, "jane", "/0", "joe", "/1")
		}, []string{`[null,` + joe + `]`}},
		"again and again": {func(t *testing.T, b *bundle) {
			t.Helper()
			b.bring(t, `{"value":[`+jane+`,`+jim+`]}`, "jane", "/value/0", "jim", "/value/1")
			b.bring(t, `{"value":[`+joe+`,`+jane+`]}`, "joe", "/value/0", "jane", "/value/1")
			b.bring(t, `{"value":[`+jane+`,`+jane+`]}`, "jane", "/value/0", "jane", "/value/1")
		}, []string{`{"value":[null,` + jim + `]}`, `{"value":[` + joe + `,null]}`}},
		"in lists of lists": {func(t *testing.T, b *bundle) {
			t.Helper()
			b.bring(t, `[`+jane+`]`, "jane", "/0")
			b.bring(t, `{"entry":[{"changes":[`+jane+`]},{"changes":[`+joe+`,`+jane+`]}]}`,
				"jane", "/entry/0/changes/0", "joe", "/entry/1/changes/0", "jane", "/entry/1/changes/1")
		}, []string{`{"entry":[{"changes":[null]},{"changes":[` + joe + `,null]}]}`}},
		"beside a new one of the same part": {func(t *testing.T, b *bundle) {
			t.Helper()
			b.bring(t, `[`+jane+`]`, "jane", "/0")
			b.bring(t, `[`+jane+`,`+joe+`]`, "jane", "/0", "jim", "/0", "joe", "/1")
		}, []string{`[` + jane + `,` + joe + `]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := func(b *bundle) []string {
				rows, err := b.pool.Query(t.Context(), `SELECT convert_from(body, 'UTF8') FROM hooklatch.deliveries WHERE body <> '' ORDER BY received_at`)
				require.NoError(t, err)
				all, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				return all
			}
			erased := setup(t)
			c.bring(t, erased)
			erased.dispatch(t, "jane")
			erased.erase(t, "jane")
			require.Equal(t, c.want, bodies(erased))

			redacted := setup(t)
			c.bring(t, redacted)
			for _, id := range []string{"jane", "joe", "jim"} {
				if redacted.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = $1`, id) == 1 {
					redacted.dispatch(t, id)
				}
			}
			_, err := redacted.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "shop", Pointers: []string{"/email"}}})
			require.NoError(t, err)
			for _, body := range bodies(redacted) {
				require.NotContains(t, body, "@example.com")
			}
		})
	}
}

// A part that two events share is erased with the last of the two events. The first erasure reports
// that the part remains.
func TestAPartOfTwoEventsStaysForTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.bring(t, `[{"email":"jane@example.com"}]`, "jane", "/0", "joe", "/0")
	b.dispatch(t, "jane")
	require.True(t, b.erase(t, "jane").Remains)
	require.JSONEq(t, `{"email":"jane@example.com"}`, string(b.event(t, "joe").Payload()))
}
