package find_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// fillValues adds :values unique values of the filled events, spread over the last 30 days, and one
// value that every event has.
const fillValues = `SET session_replication_role = replica;
	INSERT INTO hooklatch.search_values (value, source, accept_seq, received_at)
	SELECT v.value, CASE n.event % 3 WHEN 0 THEN 'github' ELSE 'stripe' END, n.event, n.at
	FROM (
		SELECT i, (i - 1) % :rows + 1 AS event, date_trunc('day', now(), 'UTC') - interval '1 second' - (i::float8 / :values) * interval '29 days' AS at
		FROM generate_series(1, :values) AS i
	) AS n
	CROSS JOIN LATERAL (
		SELECT 'cus_' || n.i
		UNION ALL
		SELECT 'common' WHERE n.i <= :rows
	) AS v (value);
	RESET session_replication_role`

// The time to find a value grows with the number of days, not with the number of values. A look-up
// among 10 million values of a million events takes less than 50 ms. Equal values beyond the limit
// are not read.
func TestAnIndexedValueIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	b, rows := filled(t)
	values, long := 50_000, os.Getenv("HOOKLATCH_LONG") != ""
	if long {
		values = 10_000_000
	}
	pgtest.PastDays(t, b.pool, 30)
	began := time.Now()
	_, err := b.pool.Exec(t.Context(), strings.NewReplacer(":rows", strconv.Itoa(rows), ":values", strconv.Itoa(values)).Replace(fillValues))
	require.NoError(t, err)
	t.Logf("stored %d values in %s", values+rows, time.Since(began).Round(time.Second))
	sources := []identity.Source{"github", "stripe"}
	for _, analysed := range []bool{false, true} {
		if analysed {
			_, err := b.pool.Exec(t.Context(), `VACUUM ANALYZE hooklatch.search_values`)
			require.NoError(t, err)
		}
		for value, want := range map[string]int{"CUS_" + strconv.Itoa(values/2): 1, "cus_" + strconv.Itoa(values+1): 0, "cus_%": 0, "common": 50} {
			for range 2 { // the first call of a connection reads the catalogue
				b.costOf(t)
				events, err := b.EventsOfValue(t.Context(), value, sources, 50)
				require.NoError(t, err)
				require.Len(t, events, want, value)
			}
			c := b.costOf(t)
			t.Logf("%s, analysed %t: %d pages, %s", value, analysed, c.pages, c.time)
			require.LessOrEqual(t, c.pages, 2*45*5+2*50*15, c.plans)
			if long {
				require.Less(t, c.time, 50*time.Millisecond, c.plans)
			}
		}
	}
}

// EventsOfDelivery finds a delivery's events among the events at nearby positions.
func TestTheEventsOfADeliveryAreFound(t *testing.T) {
	t.Parallel()
	b, rows := filled(t)
	var delivery [16]byte
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT delivery_id FROM hooklatch.processed_events WHERE accept_seq = $1`, rows/2).Scan(&delivery))
	b.costOf(t)
	events, err := b.EventsOfDelivery(t.Context(), delivery, 50)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_" + strconv.Itoa(rows/2)}, ids(events))
	c := b.costOf(t)
	t.Logf("%d pages, %s", c.pages, c.time)
	require.LessOrEqual(t, c.pages, 2_500, c.plans)
	if os.Getenv("HOOKLATCH_LONG") != "" {
		require.Less(t, c.time, 50*time.Millisecond, c.plans)
	}
	none, err := b.EventsOfDelivery(t.Context(), [16]byte{1}, 50)
	require.NoError(t, err)
	require.Empty(t, none)
}

// A limit of 0 means 50, as in all lists.
func TestEventsAreFoundWithoutALimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accept(t, "stripe", "evt_1", `{}`)
	_, err := b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, SearchValues: []string{"jane"}})
	require.NoError(t, err)
	for _, limit := range []int{0, -1, 1, 2_000} {
		ofDelivery, err := b.EventsOfDelivery(t.Context(), e.DeliveryID, limit)
		require.NoError(t, err)
		require.Equal(t, []string{"evt_1"}, ids(ofDelivery), limit)
		ofValue, err := b.EventsOfValue(t.Context(), "jane", []identity.Source{"stripe"}, limit)
		require.NoError(t, err)
		require.Equal(t, []string{"evt_1"}, ids(ofValue), limit)
	}
}
