package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestAcceptStoresEventDeliveryAndJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := delivery("stripe", "evt_1")
	d.Events[0].OccurredAt = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	d.Events[0].APIVersion = "2026-10-01"
	d.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	a, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, 1, a.New())
	require.Equal(t, 0, a.Duplicates())

	e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"})
	require.NoError(t, err)
	require.Equal(t, d.Body, e.Body)
	require.Equal(t, d.Headers, e.Headers)
	require.Equal(t, "application/json", e.ContentType)
	require.Equal(t, inbox.Received, e.Outcome)
	require.True(t, d.Events[0].OccurredAt.Equal(e.OccurredAt))
	require.Equal(t, "2026-10-01", e.APIVersion)
	require.Equal(t, a.Events[0].AcceptanceID, e.AcceptanceID)
	require.True(t, a.Events[0].FirstReceivedAt.Equal(e.ReceivedAt))

	var kind, queue, args, metadata string
	var tags []string
	require.NoError(t, b.pool.QueryRow(t.Context(),
		`SELECT kind, queue, args::text, metadata::text, tags FROM hooklatch.river_job`).Scan(&kind, &queue, &args, &metadata, &tags))
	require.Equal(t, riverjob.KindDispatch, kind)
	require.Equal(t, riverjob.QueueDispatch, queue)
	require.Contains(t, args, `"event_id": "evt_1"`)
	require.NotContains(t, args, "invoice", "args never carry a payload")
	require.Contains(t, metadata, "http://console.test/events/stripe/evt_1")
	require.Contains(t, metadata, d.Traceparent)
	require.Equal(t, []string{"src-stripe", "type-invoice-paid"}, tags)
}

func TestAcceptAnswersDuplicate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	elsewhere := onPool(t, b.pool) // another gateway, which remembers none of these events
	first, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)

	again := delivery("stripe", "evt_1")
	again.Body = []byte(`{"id":"x","attempt":2}`)
	second, err := elsewhere.Accept(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, Duplicate, second.Events[0].Status)
	require.True(t, second.Events[0].BodyDiffers)
	require.Equal(t, first.Events[0].AcceptanceID, second.Events[0].AcceptanceID)
	require.True(t, first.Events[0].FirstReceivedAt.Equal(second.Events[0].FirstReceivedAt))

	other, err := b.Accept(t.Context(), delivery("stripe-test", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, other.New(), "keys are scoped to their source")

	for i, gateway := range []*bundle{b, elsewhere} { // one event and several events use different statements
		several, err := gateway.Accept(t.Context(), delivery("stripe", "evt_2", "evt_3"))
		require.NoError(t, err)
		require.Equal(t, 2-2*i, several.New())
	}

	require.NoError(t, elsewhere.Stop(t.Context())) // flushes the counts of duplicates
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.deliveries`), "a duplicate stores no body")
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
	require.Equal(t, 1, b.count(t, `SELECT duplicates FROM hooklatch.processed_events WHERE source = 'stripe' AND body_differs AND last_duplicate_at IS NOT NULL`))
}

// A separate SQL statement stores a delivery of a single event. This statement must store the same
// rows as the statement for several events.
func TestEventThatComesAloneIsStoredAsAmongOthers(t *testing.T) {
	t.Parallel()
	stored := func(others ...string) (rows []string) {
		b := setup(t)
		d := delivery("stripe", append([]string{"evt_1"}, others...)...)
		d.RetryNumber, d.RetryReason = 3, "timeout"
		d.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		d.Events[0].APIVersion, d.Events[0].Item, d.Events[0].OccurredAt = "2026-11", "/0", time.Unix(1_795_000_000, 0)
		_, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
		for _, query := range []string{
			`SELECT to_jsonb(p) - ARRAY['acceptance_id', 'delivery_id', 'received_at'] FROM hooklatch.processed_events AS p WHERE event_id = 'evt_1'`,
			`SELECT to_jsonb(d) - ARRAY['delivery_id', 'received_at'] FROM hooklatch.deliveries AS d`,
			`SELECT to_jsonb(j) - ARRAY['created_at', 'scheduled_at'] FROM hooklatch.river_job AS j WHERE args ->> 'event_id' = 'evt_1'`,
		} {
			var row string
			require.NoError(t, b.pool.QueryRow(t.Context(), query).Scan(&row))
			rows = append(rows, row)
		}
		return rows
	}
	require.Equal(t, stored("evt_2", "evt_3"), stored())
}

func TestAcceptHalfKnownDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Accept(t.Context(), delivery("stripe", "a", "b"))
	require.NoError(t, err)
	a, err := b.Accept(t.Context(), delivery("stripe", "c", "b", "d", "c"))
	require.NoError(t, err)
	statuses := make([]AcceptStatus, 0, 4)
	for _, e := range a.Events {
		statuses = append(statuses, e.Status)
	}
	require.Equal(t, []AcceptStatus{Accepted, Duplicate, Accepted, Duplicate}, statuses)

	var order []string
	rows, err := b.pool.Query(t.Context(), `SELECT event_id FROM hooklatch.processed_events ORDER BY accept_seq`)
	require.NoError(t, err)
	order, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d"}, order, "accept_seq follows the order of arrival")
}

func TestAcceptRefusesUnusableIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, in := range map[string]Incoming{
		"empty id":     {ID: "", Type: "x"},
		"NUL in id":    {ID: "a\x00b", Type: "x"},
		"invalid id":   {ID: "a\xffb", Type: "x"},
		"long id":      {ID: identity.EventID(strings.Repeat("a", 256)), Type: "x"},
		"empty type":   {ID: "a", Type: ""},
		"NUL in type":  {ID: "a", Type: "a\x00"},
		"long type":    {ID: "a", Type: strings.Repeat("a", 256)},
		"invalid type": {ID: "a", Type: "\xc3\x28"},
	} {
		d := delivery("stripe")
		d.Events = []Incoming{{ID: "good", Type: "x"}, in}
		_, err := b.Accept(t.Context(), d)
		var invalid *InvalidEventError
		require.ErrorAs(t, err, &invalid, name)
	}
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`), "a delivery is stored completely or not at all")
}

// An event with an impossible time is accepted. Its time is stored as unknown.
func TestAcceptTakesAnImpossibleTimeForUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, at := range map[string]time.Time{
		"before Postgres begins": time.Date(-4800, 1, 1, 0, 0, 0, 0, time.UTC),
		"before the year 1":      time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC),
		"after the year 9999":    time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		"too far for Postgres":   time.Date(53_872_825, 1, 1, 0, 0, 0, 0, time.UTC),
		"with a zone, year 0":    time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)),
	} {
		d := delivery("stripe", name)
		d.Events[0].OccurredAt = at
		_, err := b.Accept(t.Context(), d)
		require.NoError(t, err, name)
		e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(name)})
		require.NoError(t, err, name)
		require.True(t, e.OccurredAt.IsZero(), "%s: %s", name, e.OccurredAt)

		effect := planned(e, name)
		effect.LatestKey, effect.OccurredAt = name, at
		_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.NoError(t, err, name)
		require.WithinDuration(t, e.ReceivedAt, b.effect(t, effect.EffectID).OccurredAt, 0, name)
	}
	for _, at := range []time.Time{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		d := delivery("stripe", at.String())
		d.Events[0].OccurredAt = at
		_, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
		e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(at.String())})
		require.NoError(t, err)
		require.True(t, at.Equal(e.OccurredAt), "%s", at)
	}
}

// poisons returns bodies that could break jsonb, text columns or parsers.
func poisons() map[string][]byte {
	return map[string][]byte{
		"escaped NUL":     []byte(`{"a":"\u0000"}`),
		"lone surrogate":  []byte(`{"a":"\ud800"}`),
		"duplicate keys":  []byte(`{"a":1,"a":2,"b":1.10}`),
		"10^400":          []byte(`{"a":1e400}`),
		"nested arrays":   []byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)),
		"900 kB":          bytes.Repeat([]byte("0123456789"), 90_000),
		"NUL bytes":       {0, 1, 2, 0, 255, 254},
		"empty":           {},
		"byte order mark": []byte("\xef\xbb\xbf{}\r\n"),
	}
}

func TestAcceptKeepsBodiesByteForByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var all sync.WaitGroup
	for name, body := range poisons() {
		all.Go(func() { // concurrently, so that they share batches with neighbours
			d := delivery("stripe", "poison "+name)
			d.Body = body
			d.ContentType = "text/plain\x00"
			d.Headers = map[string][]string{"X-Odd": {"\xff\x00"}}
			_, err := b.Accept(t.Context(), d)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		all.Go(func() {
			if _, err := b.Accept(t.Context(), delivery("stripe", "neighbour of "+name)); err != nil {
				t.Errorf("neighbour of %s: %v", name, err)
			}
		})
	}
	all.Wait()
	for name, body := range poisons() {
		e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID("poison " + name)})
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(body, e.Body), name)
		require.True(t, bytes.Equal(body, e.Payload()), name)
	}
	require.Equal(t, 2*len(poisons()), b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// Two outboxes act as two gateway processes. Both accept the same ids, in random orders (I2).
func TestAcceptConcurrentDuplicatesInTwoGateways(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := onPool(t, one.pool)
	const ids, copies = 8, 64
	var mu sync.Mutex
	accepted := make(map[string]int)
	var all sync.WaitGroup
	for i := range copies {
		o := one.Outbox
		if i%2 == 1 {
			o = two.Outbox
		}
		all.Go(func() {
			d := delivery("stripe")
			for _, n := range rand.Perm(ids) {
				d.Events = append(d.Events, Incoming{ID: identity.EventID(fmt.Sprintf("evt_%d", n)), Type: "x"})
			}
			a, err := o.Accept(context.Background(), d)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("accept: %v", err)
			}
			for _, e := range a.Events {
				if e.Status == Accepted {
					accepted[string(e.EventID)]++
				}
			}
		})
	}
	all.Wait()
	require.Len(t, accepted, ids)
	for id, n := range accepted {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, ids, one.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, ids, one.count(t, `SELECT count(*) FROM hooklatch.river_job`))
}

func TestAcceptTxCommitsWithTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	boom := errors.New("boom")
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		a, err := b.AcceptTx(t.Context(), tx, delivery("stripe", "evt_1"))
		require.NoError(t, err)
		require.Equal(t, 1, a.New())
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))

	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := b.AcceptTx(t.Context(), tx, delivery("stripe", "evt_1"))
		return err
	}))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
}

func TestAcceptAfterStop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.Stop(t.Context()))
	require.NoError(t, b.Stop(t.Context()))
	_, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.ErrorIs(t, err, commit.ErrClosed)
}

func TestEmptyDeliveryIsNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, err := b.Accept(t.Context(), delivery("line"))
	require.NoError(t, err)
	require.Empty(t, a.Events)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
}

// A later duplicate with the original body does not hide that an earlier one differed.
func TestDifferenceOfADuplicateStaysNoted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := b.accepted(t, "stripe", "evt_1").EventRef
	for _, differs := range []bool{false, true, false} {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := b.noteDuplicateBatch(t.Context(), tx, []duplicateNote{{ref: ref, count: 1, bodyDiffers: differs}, {ref: ref, count: 1}})
			return err
		}))
	}
	e, err := b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.True(t, e.BodyDiffers)
	require.EqualValues(t, 6, e.Duplicates)
}
