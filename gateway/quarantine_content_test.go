package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A retry accepts quarantined deliveries within milliseconds of each other. Their content windows
// still begin at their arrival times, so the same deliveries are duplicates as if each had been
// accepted when it arrived.
func TestContentWindowsOfARetryCountFromTheArrival(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	// Each case lists the ages of equal deliveries in the order of their retries, and states which
	// deliveries are new.
	for name, c := range map[string]struct {
		ages  []time.Duration
		isNew []bool
	}{
		"an hour apart":                      {[]time.Duration{2 * time.Hour, time.Hour}, []bool{true, true}},
		"an hour apart, the newer one first": {[]time.Duration{time.Hour, 2 * time.Hour}, []bool{true, true}},
		"10 s apart":                         {[]time.Duration{time.Hour + 10*time.Second, time.Hour}, []bool{true, false}},
		"10 s apart, the newer one first":    {[]time.Duration{time.Hour, time.Hour + 10*time.Second}, []bool{true, false}},
		"a pair, an hour after a pair": {
			[]time.Duration{3*time.Hour + 10*time.Second, 3 * time.Hour, 2 * time.Hour, 2*time.Hour - 10*time.Second},
			[]bool{true, false, true, false},
		},
		"a pair, an hour before a pair": {
			[]time.Duration{2 * time.Hour, 2*time.Hour - 10*time.Second, 3 * time.Hour, 3*time.Hour + 10*time.Second},
			[]bool{true, false, true, false},
		},
	} {
		for _, guard := range []gateway.ReplayGuard{gateway.ReplayOff, gateway.ReplayFlag} {
			t.Run(name+", replay guard "+string(guard), func(t *testing.T) {
				t.Parallel()
				sourceWith := func(key string) []gateway.Source {
					s := source("orders", loose())
					s.Secrets = []gateway.Secret{{Value: secret.New(key)}}
					s.ContentWindow, s.ReplayGuard = window, guard
					return []gateway.Source{s}
				}
				q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = sourceWith("wrong") })
				for i := range c.ages {
					require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", `{"amount":1}`, withHeaders("X-Id", string(rune('a'+i)))).status)
				}
				kept := q.kept(t)
				require.Len(t, kept, len(c.ages))
				require.NoError(t, q.gateway.SetSources(sourceWith(testSecret)))
				events := 0
				for i, age := range c.ages {
					kept[i].RejectedAt = kept[i].RejectedAt.Add(-age)
					a, err := q.gateway.AcceptAgain(t.Context(), &kept[i])
					require.NoError(t, err, "a delivery that is accepted or a duplicate leaves the quarantine")
					require.Equal(t, c.isNew[i], a.New() == 1)
					events += a.New()
					require.Equal(t, !c.isNew[i], a.Duplicates() == 1)
				}
				require.Equal(t, events, q.count(t, "SELECT count(*) FROM hooklatch.processed_events"))
			})
		}
	}
}
