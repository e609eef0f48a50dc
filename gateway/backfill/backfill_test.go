package backfill

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mostly is how often the webhook of the n-th of many events comes: some never do, some
// come twice.
func mostly(n int) int {
	switch {
	case n%10 == 3:
		return 0
	case n%20 == 7:
		return 2
	}
	return 1
}

// Of every provider whose list has what its webhooks bring: each event is stored once, and
// what was recovered is what no webhook brought.
func TestWhatTheWebhookDidNotBringIsPulled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ endpoint, eventType, foreign string }{
		"stripe": {"we_1", "invoice.paid", "customer.created"},
		"gitlab": {"projects/7/hooks/1", "push", ""},
		"okta":   {"who8vt36qfNpCGz9H1e6", "user.lifecycle.create", "user.session.start"},
		"paddle": {"ntfset_01gkpjp8bkm3tm53kdgkx6sms7", "transaction.completed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.happen(300, c.eventType, mostly)
			foreign := 0
			if c.foreign != "" {
				foreign = 20
				w.happen(foreign, c.foreign, never) // our endpoint never asked for it
			}
			run := w.turn()
			require.Empty(t, run.Error)
			require.EqualValues(t, 30, run.Recovered)
			require.EqualValues(t, foreign, run.Filtered)
			require.EqualValues(t, 30, w.recovered())
			require.Equal(t, 270, w.stored("webhook"))
			require.Equal(t, 30, w.stored("backfill"))
			again := w.turn()
			require.Empty(t, again.Error)
			require.Zero(t, again.Recovered)
			require.Zero(t, again.Missing)
			w.happen(3, c.eventType, never)
			require.EqualValues(t, 3, w.turn().Recovered, "the next pass goes on")
		})
	}
}

func TestWhatTheWebhookDidNotBringIsRedelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	w.happen(300, "push", mostly)
	w.happen(20, "issues.opened", never)
	run := w.turn()
	require.Empty(t, run.Error)
	require.EqualValues(t, 50, run.Asked)
	w.turn()
	require.EqualValues(t, 50, w.recovered())
	require.Equal(t, 320, w.stored("webhook"))
	for id, times := range w.asked {
		require.Equal(t, 1, times, id)
	}
}

// A delivery that our gateway refuses would be asked for eternally: after its tries it is
// fetched from the list.
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

// GitHub sends forms where the owner of the hook wants that, and lists their content type
// beside a payload of JSON.
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

// What can neither be redelivered nor fetched is given up, told, and not asked for again.
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

// A redelivery takes a while. Passes that come meanwhile do not ask for it again.
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
	require.Equal(t, 2, posts, "one for each event")
	w.refuse = nil
	require.NoError(t, w.deliver(w.events...))
	require.EqualValues(t, 2, w.turn().Recovered)
}

// While no gateway is there, nothing would take a redelivery.
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
