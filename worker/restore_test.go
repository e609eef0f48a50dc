package worker

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// honest is a receiver that honours keys: it counts every call, and applies each key once. Until
// open is true, it responds 429 to events whose id begins with "pending".
type honest struct {
	open atomic.Bool

	mu      sync.Mutex
	calls   int
	applied map[string]int // number of accepted calls by key
}

func (h *honest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if !h.open.Load() && strings.Contains(string(body), "pending") {
		w.WriteHeader(http.StatusTooManyRequests) // certainly not applied
		return
	}
	h.applied[r.Header.Get("Idempotency-Key")]++
}

// called returns the number of calls so far, the number of applied keys, and the maximum number of
// calls for one key.
func (h *honest) called() (calls, keys, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.applied {
		most = max(most, n)
	}
	return h.calls, len(h.applied), most
}

// Events of two sources cause effects at an at_least_once and an at_most_once destination, while
// workers run all the time. The server is lost, and the backup is restored to an earlier time. At
// that time some effects of both destinations were pending. These effects, and effects of events
// that the restore lost, were done later.
//
// Before an operator confirms the server, no at_most_once effect starts, and everything else
// continues. Afterwards an effect may be done again only under its key. Effects wait for an
// operator only if it is unknown whether they were done.
//
// With HOOKLATCH_LONG=1, the restore goes back ten minutes instead of a second.
func TestARestoredDatabaseWaitsForAPerson(t *testing.T) {
	t.Parallel()
	const each = 10
	lost := time.Second
	if os.Getenv("HOOKLATCH_LONG") != "" {
		lost = 10 * time.Minute
	}
	a := newArchived(t)
	b := onPool(t, a.pool)
	app, mail := &honest{applied: map[string]int{}}, &honest{applied: map[string]int{}}
	patient := func(policy ledger.Policy) func(*DestinationOptions) {
		return func(d *DestinationOptions) {
			d.Policy, d.Breaker = policy, lane.Breaker{Off: true}
			d.Timeout = 20 * time.Second // not longer, because attempts from before the restore end only with their leases
			d.Retry = destination.Schedule{Initial: 2 * time.Second, Max: 2 * time.Second, Jitter: -1, MaxAttempts: 10_000}
		}
	}
	b.addHTTP(t, "app", app.ServeHTTP, patient(ledger.AtLeastOnce))
	b.addHTTP(t, "mail", mail.ServeHTTP, patient(ledger.AtMostOnce))
	// Jobs that were running at the restore time are rescued.
	b.opts.JobTimeout, b.opts.RescueAfter = 40*time.Second, 45*time.Second
	a.takeBackup(t)
	b.start(t, b.worker(t))
	sources := []string{"github", "stripe"}
	acknowledged := map[string][]time.Time{} // by source: acceptance times of lost events
	accept := func(kind string) {
		t.Helper()
		for i := range each {
			for _, source := range sources {
				id := fmt.Sprintf("%s_%s_%d", kind, source, i)
				require.Eventually(t, func() bool {
					_, err := b.outbox.Accept(t.Context(), outbox.Delivery{
						Source: identity.Source(source), Provider: source, Body: []byte(`{"id":"` + id + `"}`), ContentType: "application/json",
						Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "t"}},
					})
					return err == nil
				}, restorePatience, 50*time.Millisecond)
				if kind == "lost" {
					acknowledged[source] = append(acknowledged[source], time.Now())
				}
			}
		}
	}
	done := func(h *honest, keys int) func() bool {
		return func() bool { _, n, _ := h.called(); return n == keys }
	}
	all := each * len(sources)

	accept("done")
	require.Eventually(t, func() bool { return done(app, all)() && done(mail, all)() }, restorePatience, 10*time.Millisecond)
	accept("pending")
	waitFor(t, b, `SELECT (count(*) = $1)::integer FROM hooklatch.effects WHERE attempt > 0 AND event_id LIKE 'pending%'`, 2*all)
	var restoredTo time.Time
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&restoredTo))
	time.Sleep(lost) //nolint:forbidigo // the restore loses the work of this time
	app.open.Store(true)
	mail.open.Store(true)
	accept("lost")
	require.Eventually(t, func() bool { return done(app, 3*all)() && done(mail, 3*all)() }, restorePatience, 10*time.Millisecond)
	mailed, _, _ := mail.called()

	a.restore(t, restoredTo)
	var err error
	b.pool, err = pgxpool.New(t.Context(), a.backup.URL(a.pool.Config().ConnConfig.Database)) // for the test's own queries; the workers' pools must reconnect automatically
	require.NoError(t, err)
	t.Cleanup(b.pool.Close)
	accept("since") // no operator has confirmed the server yet
	require.Eventually(t, done(app, 4*all), restorePatience, 10*time.Millisecond, "all other work continues")
	waitLong(t, b, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state <> 'done'`, 0)
	waitLong(t, b, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'mail' AND event_id LIKE 'since%'`, all)
	require.Eventually(t, func() bool { return len(b.lines(t, withheldLine)) > 0 }, restorePatience, 50*time.Millisecond)
	calls, _, _ := mail.called()
	require.Equal(t, mailed, calls, "an at_most_once effect started before an operator confirmed the server")

	by := ledger.Operator{Who: "ann", Via: "test"}
	preview, err := b.outbox.Repair().PreviewRestore(t.Context(), restoredTo, []string{"never_seen"})
	require.NoError(t, err)
	require.True(t, preview.State.Withheld)
	said, err := b.outbox.Repair().Restored(t.Context(), restoredTo, nil, by, nil)
	require.NoError(t, err)
	require.Positive(t, said.Parked)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'mail' AND state IN ('pending', 'started', 'in_doubt')`))
	require.Len(t, said.Missing, len(sources))
	require.Len(t, preview.Missing, len(sources)+1)
	for i, source := range sources {
		m := said.Missing[i]
		require.Equal(t, source, string(m.Source))
		require.Len(t, acknowledged[source], each)
		for _, at := range acknowledged[source] {
			require.WithinRange(t, at, m.From, m.Until, "an acknowledged event of %s is missing, and its time was not reported", source)
		}
		require.True(t, m.LastBefore.Before(restoredTo))
		require.True(t, m.FirstSince.After(restoredTo))
	}
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE operator_paused`))

	accept("lost") // sent again, as the reported interval suggests: the same events under the same keys
	accept("late")
	require.Eventually(t, func() bool { return done(app, 5*all)() && done(mail, 4*all)() }, restorePatience, 50*time.Millisecond)
	waitLong(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state NOT IN ('done', 'parked')`, 0)
	require.Equal(t, 2*all, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND maybe_applied_since IS NOT NULL`),
		"those of before, and those that came before the person had spoken")
	require.Zero(t, b.count(t, `SELECT count(*) FROM (SELECT FROM hooklatch.effects GROUP BY scope, key, generation HAVING count(*) > 1) AS twice`))
	for _, key := range pendingKeys(t, b, "mail") {
		mail.mu.Lock()
		require.Equal(t, 1, mail.applied[key], "an at_most_once effect from before the restore was done twice")
		mail.mu.Unlock()
	}
}

// pendingKeys returns the keys of the effects that were pending at the restore time.
func pendingKeys(t *testing.T, b *bundle, name string) []string {
	t.Helper()
	var keys []string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT array_agg(idempotency_key) FROM hooklatch.effects
		WHERE destination = $1 AND event_id LIKE 'pending%'`, name).Scan(&keys))
	require.NotEmpty(t, keys)
	return keys
}

// restorePatience limits each wait of the test of a restore. A wait may include the rescue of a job,
// the end of a lease and several attempts.
const restorePatience = 6 * time.Minute

// waitLong waits until a query returns the number want, even on a busy machine.
func waitLong(t *testing.T, b *bundle, query string, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return b.count(t, query) == want }, restorePatience, 50*time.Millisecond, query)
}
