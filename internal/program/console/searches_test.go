package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

// patience is the maximum time that a test waits for a state, even on a busy machine.
const patience = 5 * time.Minute

// search searches events with a condition, as a viewer.
func (b *bundle) search(name, when string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/events?"+url.Values{"when": {when}}.Encode(), http.NoBody)
	for _, f := range change {
		f(r)
	}
	return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: name, Role: signin.Viewer})))
}

// A user's four searches run one after another. Another user's search is not refused, and other
// pages do not wait for searches.
func TestSearchesOfAPersonRunOneAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", "invoice.paid", `{"a":1}`)
	lock, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `LOCK TABLE hooklatch.processed_events IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	running := func() (n int) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%slice AS MATERIALIZED%' AND pid <> pg_backend_pid()`).Scan(&n))
		return n
	}
	vera := signin.Person{Name: "vera"}
	// On a busy machine, a search may wait too long for its turn, or have too little time left
	// after another search. It is then repeated until enough has been seen.
	waited := []int{http.StatusOK, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	var enough atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !enough.Load() {
				if got := b.search("vera", "body.a == 1").Code; !slices.Contains(waited, got) {
					t.Errorf("answered %d", got)
					return
				}
			}
		})
	}
	defer enough.Store(true)
	require.Eventually(t, func() bool { return running() == 1 && b.console.Searching(vera) > 1 }, patience, time.Millisecond)
	require.LessOrEqual(t, running(), 1)
	otto := signin.Person{Name: "otto"}
	all.Go(func() {
		for !enough.Load() {
			if got := b.search("otto", "body.a == 1").Code; got == http.StatusTooManyRequests || !slices.Contains(waited, got) {
				t.Errorf("another person is answered %d", got)
				return
			}
		}
	})
	require.Eventually(t, func() bool { return b.console.Searching(otto) == 1 }, patience, time.Millisecond)
	require.LessOrEqual(t, running(), 1, "one search runs at a time")
	enough.Store(true)
	require.Equal(t, http.StatusOK, b.answer(httptest.NewRequest(http.MethodGet, "/help", http.NoBody)).Code, "a page without a condition does not count as a search")
	require.NoError(t, lock.Rollback(t.Context()))
	all.Wait()
	require.Zero(t, b.console.Searching(vera))
	require.Eventually(t, func() bool { return b.search("otto", "body.a == 1").Code == http.StatusOK }, patience, time.Millisecond)
}

// On every path, a search runs in its user's turn, even if a link on another web site caused the
// search.
func TestEverySearchTakesItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	vera := signin.Person{Name: "vera", Role: signin.Admin}
	release := b.console.HoldSearches(vera)
	for _, path := range []string{"/events", "/effects", "/runs/new?of=events", "/runs/new?of=effects", "/api/events", "/api/effects", "/api/runs/new?of=events"} {
		for _, site := range []string{"none", "same-origin", "cross-site"} {
			and := "?"
			if strings.Contains(path, "?") {
				and = "&"
			}
			r := httptest.NewRequest(http.MethodGet, path+and+"when=true", http.NoBody)
			r.Header.Set("Sec-Fetch-Site", site)
			got := b.answer(r.WithContext(signin.WithPerson(r.Context(), vera)))
			require.Equal(t, http.StatusTooManyRequests, got.Code, path)
			require.Contains(t, got.Body.String(), "one payload search at a time")
			require.Equal(t, "1", got.Header().Get("Retry-After"))
		}
	}
	require.Equal(t, http.StatusTooManyRequests, b.answer(func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/runs/new?of=events&when=true", http.NoBody)
		return r.WithContext(signin.WithPerson(r.Context(), vera))
	}()).Code)
	require.Equal(t, http.StatusOK, b.search("otto", "true").Code)
	release()
	require.Equal(t, http.StatusOK, b.search("vera", "true").Code)
}

// A condition that is too complex is refused before it causes work, and the error does not blame
// the database.
func TestAConditionThatIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", "invoice.paid", `{"a":1}`)
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200) + ".size() > 0"
	for when, want := range map[string]string{
		deep: "at most 32 lists", strings.Repeat(deep+"||", 9) + "true": "at most 1000 are allowed", "body.a == " + strings.Repeat("(", 40) + "1" + strings.Repeat(")", 40): "at most 32 lists",
		`body.a.matches("(?:` + strings.Repeat("a", 900) + `){1000}")`: "at most 16384 are allowed",
	} {
		for _, path := range []string{"/events", "/effects", "/runs/new", "/api/events"} {
			got := b.as(signin.Operator, path+"?"+url.Values{"of": {"events"}, "when": {when}}.Encode())
			require.Equal(t, http.StatusBadRequest, got.Code, path)
			require.Contains(t, got.Body.String(), want, path)
			require.NotContains(t, got.Body.String(), "database")
		}
	}
	require.Equal(t, http.StatusOK, b.search("vera", "body.a == 1").Code)
}
