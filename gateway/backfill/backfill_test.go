package backfill

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mostly returns how often the webhook of event n arrives: of many webhooks, 10 % never arrive
// and 5 % arrive twice.
func mostly(n int) int {
	switch {
	case n%10 == 3:
		return 0
	case n%20 == 7:
		return 2
	}
	return 1
}

// The provider refuses every redelivery request. After maxTries requests, the pass fetches the
// event from the list.
func TestRedeliveriesThatDoNotArriveArePulled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		out.WriteHeader(http.StatusUnprocessableEntity)
		return true
	}
	w.happen(3, "push", never)
	require.Eventually(t, func() bool {
		w.turn()
		return w.stored("backfill") == 3
	}, time.Minute, time.Millisecond)
	require.EqualValues(t, 3, w.recovered())
}

// GitHub sends forms if the hook's owner chose them. Its list shows a form's payload as JSON, but
// with the form's content type.
func TestAFormThatIsListedAsJSONIsStoredAsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/octocat/hello-world/hooks/1")
	w.source.Settings.Via = ViaPull
	w.happen(1, "push", func(int) int { return 0 })
	w.events[0].webhook.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.EqualValues(t, 1, w.turn().Recovered)
	var contentType string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT content_type FROM hooklatch.deliveries").Scan(&contentType))
	require.Equal(t, "application/json", contentType)
}

// An event that can be neither redelivered nor fetched is given up, reported, and not
// requested again.
func TestWhatIsLostIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	posts := 0
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPost:
			w.mu.Lock()
			posts++
			w.mu.Unlock()
			out.WriteHeader(http.StatusUnprocessableEntity)
		case strings.Contains(r.URL.Path, "/deliveries/"):
			out.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	}
	w.happen(1, "push", never)
	require.Eventually(t, func() bool { return w.turn().Lost == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, maxTries, posts)
	for range 3 {
		require.Zero(t, w.turn().Asked)
	}
	require.Equal(t, maxTries, posts)
}

// A redelivery takes time. Until it arrives, passes do not request it again.
func TestARedeliveryIsAwaited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	w.source.Settings.Every = time.Hour
	posts := 0
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.mu.Lock()
		posts++
		w.mu.Unlock()
		out.WriteHeader(http.StatusAccepted)
		return true
	}
	w.happen(2, "push", never)
	for range 5 {
		w.turn()
	}
	require.Equal(t, 2, posts, "one redelivery request for each event")
	w.refuse = nil
	require.NoError(t, w.deliver(w.events...))
	require.EqualValues(t, 2, w.turn().Recovered)
}

// While no gateway is running, no process could receive a redelivery, so no pass requests one.
func TestNothingIsRedeliveredWithoutAGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	require.NoError(t, w.outbox.Fleet().Withdraw(t.Context(), "gateway"))
	w.happen(3, "push", never)
	for range maxTries + 2 {
		w.turn()
	}
	require.Empty(t, w.asked)
	require.Zero(t, w.stored("backfill"))
	w.announceGateway()
	w.turn()
	w.turn()
	require.Equal(t, 3, w.stored("webhook"))
}
