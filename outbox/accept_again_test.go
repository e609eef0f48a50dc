package outbox

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/recent"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// always gives b a new cache that reads the database's life from the variable life. The
// database keeps its identity until a test changes the variable.
func (b *bundle) always(t *testing.T, life *atomic.Value) {
	t.Helper()
	b.recent = recent.New(func(context.Context) (string, error) { return life.Load().(string), nil }, func(error) {})
	t.Cleanup(func() { require.NoError(t, b.recent.Stop(context.Background())) })
}

// warm delivers an event until the cache returns it, and then deletes the event's row. Without the
// cache, the event would be accepted again.
func (b *bundle) warm(t *testing.T, d Delivery) {
	t.Helper()
	ref := identity.EventRef{Source: d.Source, EventID: d.Events[0].ID}
	require.Eventually(t, func() bool {
		_, err := b.Accept(context.Background(), d)
		if err != nil {
			return false
		}
		_, found := b.recent.Find(ref)
		return found
	}, 2*time.Minute, time.Millisecond)
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.processed_events WHERE event_id = $1`, ref.EventID)
	require.NoError(t, err)
}

// cached returns the cache's result, and reports whether one exists.
func (b *bundle) cached(t *testing.T, d Delivery) (AcceptedEvent, bool) {
	t.Helper()
	known, ok := b.knownAgain(t.Context(), d)
	if !ok {
		return AcceptedEvent{}, false
	}
	return known.Events[0], true
}

func TestDuplicatesOfAMomentAgoNeedNoDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	b.warm(t, delivery("stripe", "evt_1"))

	again := delivery("stripe", "evt_1")
	released := 0
	again.Release = func() { released++ }
	require.Eventually(t, func() bool {
		e, ok := b.cached(t, again)
		if ok {
			require.Equal(t, Duplicate, e.Status)
			require.Equal(t, first.Events[0].AcceptanceID, e.AcceptanceID)
			require.True(t, first.Events[0].FirstReceivedAt.Equal(e.FirstReceivedAt))
			require.Equal(t, again.Events[0].Type, e.Type)
			require.False(t, e.BodyDiffers)
			again.Body = []byte(`{"attempt":2}`)
			e, ok = b.cached(t, again)
			require.True(t, !ok || e.BodyDiffers)
		}
		return ok
	}, 2*time.Minute, time.Millisecond)
	_, ok := b.knownAgain(t.Context(), delivery("stripe", "evt_1", "evt_2"))
	require.False(t, ok, "the events of a delivery are known together or not at all")
	_, err = b.Accept(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, 1, released)
}

// Duplicates that are found in the cache are also counted in the event's row. The row contains
// their times, and whether a body differed from the first one.
func TestDuplicatesOfTheCacheAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var life atomic.Value
	life.Store("one")
	b.always(t, &life)
	const storm = 500
	answered := 0
	for n := range storm {
		d := delivery("stripe", "evt_1")
		if n == 400 {
			d.Body = []byte(`{"attempt":2}`)
		}
		d.RetryNumber, d.RetryReason = n%3, "http_timeout"
		if _, ok := b.cached(t, d); ok {
			answered++
		}
		a, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
		require.Len(t, a.Events, 1)
	}
	require.Greater(t, answered, storm/2)
	require.NoError(t, b.Stop(t.Context())) // flushes the counts
	var duplicates, differ, times, inOrder int
	require.NoError(t, b.pool.QueryRow(t.Context(), `
		SELECT duplicates, body_differs::integer, cardinality(duplicate_times),
			(duplicate_times = ARRAY (SELECT at FROM unnest(duplicate_times) AS at ORDER BY at) AND duplicate_times[16] = last_duplicate_at
				AND duplicate_times[16] BETWEEN now() - interval '1 minute' AND clock_timestamp())::integer
		FROM hooklatch.processed_events`).Scan(&duplicates, &differ, &times, &inOrder))
	require.Equal(t, []int{storm - 1, 1, 16, 1}, []int{duplicates, differ, times, inOrder})
	require.Equal(t, storm/3*2+1, b.count(t, `SELECT sum(deliveries) FROM hooklatch.retry_statistics WHERE source = 'stripe' AND reason = 'http_timeout'`))
	require.Equal(t, 2, b.count(t, `SELECT count(DISTINCT retry_number) FROM hooklatch.retry_statistics`))
}

// Most senders do not sign their retry information, so it must not fill a table.
func TestRetryStatisticsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 1000 {
		counts := map[retryOf]int64{{"stripe", 1, fmt.Sprint("reason ", n%40)}: 1, {"stripe", 1, ""}: 1}
		b.noteRetries(counts)
	}
	require.Equal(t, 2000, b.count(t, `SELECT sum(deliveries) FROM hooklatch.retry_statistics`))
	require.LessOrEqual(t, b.count(t, `SELECT count(*) FROM hooklatch.retry_statistics`), maxRetryReasons+1)
	require.Equal(t, 1000, b.count(t, `SELECT deliveries FROM hooklatch.retry_statistics WHERE reason = ''`))

	for n := range 10_000 {
		b.retries.add(Delivery{Source: "github", RetryNumber: n + 1, RetryReason: strconv.Itoa(n)})
	}
	require.NoError(t, b.Stop(t.Context()))
	require.Equal(t, 10_000, b.count(t, `SELECT sum(deliveries) FROM hooklatch.retry_statistics WHERE source = 'github'`))
	require.LessOrEqual(t, b.count(t, `SELECT count(*) FROM hooklatch.retry_statistics`), 3*maxRetryCounts)
	require.LessOrEqual(t, b.count(t, `SELECT max(retry_number) FROM hooklatch.retry_statistics`), maxRetryNumber)
}

// A delivery that its guard has already recorded is found in the cache. Any other delivery reaches
// the guard in the database.
func TestCacheKnowsGuardedEventsByTheirProofOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var life atomic.Value
	life.Store("one")
	b.always(t, &life)
	guarded := func(proof, content string) Delivery {
		d := delivery("github", "evt_1")
		d.ReplayGuard = &ReplayGuard{Proof: []byte(proof), Content: []byte(content), Action: ReplayRefuse}
		return d
	}
	b.warm(t, guarded("signature", "content"))
	require.Eventually(t, func() bool {
		_, ok := b.cached(t, guarded("signature", "content"))
		return ok
	}, 2*time.Minute, time.Millisecond)
	for name, other := range map[string]Delivery{
		"another proof": guarded("signature2", "content"), "another content": guarded("signature", "content2"),
		"the same text, divided elsewhere": guarded("signaturec", "ontent"), "no guard": delivery("github", "evt_1"),
	} {
		_, ok := b.cached(t, other)
		require.False(t, ok, name)
	}

	windowed := delivery("crm", "evt_1")
	windowed.ContentWindow = time.Hour
	for range 3 {
		_, err := b.Accept(t.Context(), windowed)
		require.NoError(t, err)
		_, ok := b.cached(t, windowed)
		require.False(t, ok, "another event may have the same content")
	}
}

// An event enters the cache only after its COMMIT was confirmed.
func TestUnheardCommitsAreNotCached(t *testing.T) {
	t.Parallel()
	b, _, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	var life atomic.Value
	life.Store("one")
	b.always(t, &life)
	warm := identity.EventRef{Source: "stripe", EventID: "evt_warm"}
	require.Eventually(t, func() bool {
		b.recent.Keep(b.recent.Life(), warm, recent.Event{})
		_, found := b.recent.Find(warm)
		return found
	}, 2*time.Minute, time.Millisecond)
	b.acceptUnheard(t, f, delivery("stripe", "evt_1"))
	_, ok := b.cached(t, delivery("stripe", "evt_1"))
	require.False(t, ok)
}

// After the database's life changes, every earlier cache entry is invalid.
func TestCacheIsVoidInTheNextLifeOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var life atomic.Value
	life.Store("one")
	b.always(t, &life)
	b.warm(t, delivery("stripe", "evt_1"))
	before := b.recent.Life()
	life.Store("two")
	require.Eventually(t, func() bool {
		b.cached(t, delivery("stripe", "evt_1"))
		return b.recent.Life() != before
	}, 2*time.Minute, time.Millisecond)
	for range 100 {
		_, ok := b.cached(t, delivery("stripe", "evt_1"))
		require.False(t, ok)
	}
	a, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.New(), "its row was deleted")
}

// Acknowledged events are on the standby, so their duplicates may be acknowledged while the standby
// is unavailable. Other events must not be acknowledged.
func TestCacheAnswersWhileTheStandbyIsAway(t *testing.T) {
	t.Parallel()
	r := onReplicated(t, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	var life atomic.Value
	life.Store("one")
	r.always(t, &life)
	r.accepts(t, delivery("stripe", "evt_1"))
	r.warm(t, delivery("stripe", "evt_1"))
	r.away(t)
	_, err := r.Accept(t.Context(), delivery("stripe", "evt_2"))
	require.ErrorIs(t, err, commit.ErrUnavailable)
	// The first delivery checks whether the database is still the same. The result is valid for one
	// second. The second delivery reuses it, unless the machine was too slow.
	answered := 0
	for began := time.Now(); answered < 5 && time.Since(began) < 30*time.Second; {
		for range 2 {
			if a, err := r.Accept(t.Context(), delivery("stripe", "evt_1")); err == nil {
				require.Equal(t, 1, a.Duplicates())
				answered++
			}
		}
		_, err := r.Accept(t.Context(), delivery("stripe", "evt_2"))
		require.ErrorIs(t, err, commit.ErrUnavailable)
	}
	require.NotZero(t, answered)
	r.standbys(t, "")
}
