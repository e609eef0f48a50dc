package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// An alert is attempted for as long as its destination's schedule says. No wait is longer than 5
// minutes, so a schedule with longer waits gets more attempts.
func TestAlertsAreAttemptedForAsLongAsBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want destination.Schedule }{
		{destination.Schedule{Initial: time.Second, Max: 4 * time.Minute, MaxAttempts: 7}, destination.Schedule{Max: 4 * time.Minute, MaxAttempts: 7}},
		{destination.Schedule{Initial: time.Second, Max: time.Hour, MaxAttempts: 3}, destination.Schedule{Max: 5 * time.Minute, MaxAttempts: 3}},
		{destination.Schedule{Initial: 10 * time.Minute, Max: 20 * time.Minute, MaxAttempts: 3}, destination.Schedule{Max: 5 * time.Minute, MaxAttempts: 7}},
		{destination.Schedule{MaxAttempts: 1}, destination.Schedule{Max: 5 * time.Minute, MaxAttempts: 1}},
		{destination.Schedule{}, destination.Schedule{Max: 5 * time.Minute, MaxAttempts: 131}}, // about 10 h 25 min in total, like the 20 attempts of the default schedule
	} {
		got := app.AlarmRetry(c.given)
		require.NoError(t, got.Validate())
		require.Equal(t, c.want.Max, got.Max, c)
		require.Equal(t, c.want.MaxAttempts, got.MaxAttempts, c)
	}
}

// A heartbeat follows no redirect: a proxy may redirect it to a sign-in page, which does not record
// heartbeats.
func TestAHeartbeatIsNotRedirected(t *testing.T) {
	t.Parallel()
	login := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("was called, from %s", r.Referer()) }))
	t.Cleanup(login.Close)
	monitor := httptest.NewServer(http.RedirectHandler(login.URL, http.StatusFound))
	t.Cleanup(monitor.Close)
	require.EqualError(t, app.Beat(t.Context(), monitor.URL+"/api/push/canary"), "answered 302 Found")
}

// An alert to a chat has the chat's own format, which is the only one that the chat accepts.
func TestAnAlertToAChatHasItsFormat(t *testing.T) {
	t.Parallel()
	for preset, field := range map[string]string{"slack": "text", "teams": "attachments", "discord": "content"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var bodies []map[string]any
			chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				var body map[string]any
				_ = json.Unmarshal(text, &body)
				mu.Lock()
				defer mu.Unlock()
				bodies = append(bodies, body)
			}))
			t.Cleanup(chat.Close)
			pool := pgtest.New(t)
			_, err := pool.Exec(t.Context(), `
				INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at)
				VALUES ('s', 'parked', 'hl_parked', 'app', 'dst_app', 'at_most_once', 'parked', 0, now())`)
			require.NoError(t, err)
			f := newFile(t, pgtest.URL(t, pool))
			f.write(t, fmt.Sprintf(`
destinations: {chat: {http: {url: %q, preset: %s}}}
alerts: {to: [{destination: chat}], for: 1s}
allow_empty: true
`, chat.URL, preset))
			var logs syncBuffer
			started(t, f, &logs)
			require.Eventually(t, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(bodies) > 0
			}, 3*time.Minute, 50*time.Millisecond, logs.String())
			mu.Lock()
			defer mu.Unlock()
			require.Contains(t, bodies[0], field)
			require.Contains(t, fmt.Sprint(bodies[0]), "1 effect to app is parked")
			require.Contains(t, fmt.Sprint(bodies[0]), "hooklatch effects list --state parked --destination app")
		})
	}
}

// The team of a source that a reload adds is notified of the source's alerts.
func TestAnAlertGoesToTheTeamOfAReloadedSource(t *testing.T) {
	t.Parallel()
	notified := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { notified <- r.URL.Path }))
	t.Cleanup(receiver.Close)
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	write := func(sources string) {
		f.write(t, fmt.Sprintf(`
sources: {stripe: {provider: stripe, secrets: [the-first-secret]}%s}
destinations: {all: {http: {url: "%[2]s/all"}}, payments: {http: {url: "%[2]s/payments"}}}
alerts: {to: [{destination: all}, {destination: payments, team: payments}], for: 1s}
allow_empty: true
`, sources, receiver.URL))
	}
	write("")
	var logs syncBuffer
	a := started(t, f, &logs)
	write(", paypal: {provider: github, secrets: [the-second-secret], team: payments}")
	reload(t, a)
	_, err := pool.Exec(t.Context(), `
		INSERT INTO hooklatch.processed_events
			(source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at)
		VALUES ('paypal', 'evt', nextval('hooklatch.accept_seq'), gen_random_uuid(), 'paypal', 't', now(), gen_random_uuid(), '', 'dispatch', 'failed', now())`)
	require.NoError(t, err)
	select {
	case path := <-notified:
		require.Equal(t, "/payments", path)
	case <-time.After(patience):
		require.Fail(t, "no team is notified", logs.String())
	}
}
