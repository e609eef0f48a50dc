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

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

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
