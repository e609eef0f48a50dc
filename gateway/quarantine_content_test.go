package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Two deliveries with equal content may have arrived far apart, although both are accepted at once.
// The second stays in quarantine, which has its only copy. After the window it is a new event. A
// delivery whose own events are equal leaves the quarantine.
func TestARetryKeepsWhatOnlyRepeatsContent(t *testing.T) {
	t.Parallel()
	p := loose()
	one := p.Events
	p.Events = func(r *provider.Request) ([]provider.Event, error) {
		events, err := one(r)
		if id := r.Header.Get("X-Second-Id"); id != "" {
			events = append(events, provider.Event{ID: id, Type: "x"})
		}
		return events, err
	}
	sourceWith := func(key string) []gateway.Source {
		s := source("orders", p)
		s.Secrets = []gateway.Secret{{Value: secret.New(key)}}
		s.ContentWindow, s.ReplayGuard = time.Hour, gateway.ReplayOff
		return []gateway.Source{s}
	}
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = sourceWith("wrong") })
	for _, ids := range [][]string{{"X-Id", "a"}, {"X-Id", "b"}, {"X-Id", "a"}} {
		require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", `{"amount":1}`, withHeaders(ids...)).status)
	}
	require.Equal(t, http.StatusUnauthorized, q.post(t, "orders", `{"amount":2}`, withHeaders("X-Id", "c", "X-Second-Id", "d")).status)
	kept := q.kept(t)
	require.Len(t, kept, 4)
	require.NoError(t, q.gateway.SetSources(sourceWith(testSecret)))

	accepted := func(at, isNew int) {
		t.Helper()
		a, err := q.gateway.AcceptAgain(t.Context(), &kept[at])
		require.NoError(t, err)
		require.Equal(t, isNew, a.New())
	}
	accepted(0, 1)
	_, err := q.gateway.AcceptAgain(t.Context(), &kept[1])
	var refused *gateway.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "same_content", refused.Reason)
	require.False(t, refused.Ours)
	accepted(2, 0)
	accepted(3, 1)
	accepted(3, 0)

	_, err = q.pool.Exec(t.Context(), "UPDATE hooklatch.content_guards SET expires_at = now()")
	require.NoError(t, err)
	accepted(1, 1)
}
