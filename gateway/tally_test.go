package gateway_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The gateway counts outcomes not only in the metrics, but also per minute in the database.
func TestMinutes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: pool})
	require.NoError(t, err)
	b := setup(t, func(o *gateway.Options) { o.Minutes = counts })
	b.post(t, "orders", `{"events":[{"id":"a","type":"x"},{"id":"b","type":"x"}]}`)
	b.post(t, "orders", `{"events":[{"id":"a","type":"x"},{"id":"c","type":"x"}]}`)
	b.post(t, "orders", `{"id":"a","type":"x"}`)
	b.post(t, "orders", `{}`)
	b.post(t, "orders", `{}`, func(r *http.Request) { r.Header.Del("X-Signature") })
	for i := range 3 {
		b.post(t, fmt.Sprintf("made-up-%d", i), `{}`)
	}
	require.NoError(t, counts.Stop(t.Context()))

	found, err := pool.Query(t.Context(), `SELECT name || ' ' || what, sum(n)::bigint FROM hooklatch.minutes WHERE kind = 'source' GROUP BY 1`)
	require.NoError(t, err)
	sums := map[string]int64{}
	var of string
	var n int64
	_, err = pgx.ForEachRow(found, []any{&of, &n}, func() error {
		sums[of] = n
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{
		"orders accepted":  3,
		"orders duplicate": 2,
		"orders secret:" + secret.New(testSecret).Mark("orders"): 4,
		"orders took:0.01":                 3, // the test's clock does not advance
		"orders refused:no_usable_event":   1,
		"orders refused:missing_signature": 1,
		"_unknown refused:unknown_source":  3,
	}, sums)
}
