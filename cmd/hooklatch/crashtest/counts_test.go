package crashtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A killed process loses at most the counts of its last ten seconds, which it had not added to the
// statistics yet. Nothing is counted twice. HOOKLATCH_LONG=1 uses 50,000 events.
func TestCountsLoseTenSecondsOfAKilledProcess(t *testing.T) {
	t.Parallel()
	events, every := 1_500, 2*time.Second
	if long() {
		events, every = 50_000, 4*time.Second
	}
	const clients, concurrency = 12, 20
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	pool := pgtest.New(t, pgtest.MaxConns(4))
	config := fmt.Sprintf("destinations:\n  app: {http: {url: %q}, concurrency: %d, timeout: 2s}\nroutes:\n  - {name: all, from: stripe, to: app}\n", receiver.URL, concurrency)
	var fleet []*member
	for i := range 6 {
		m := &member{process: newProcess(t, pool, "gateway", config), counted: "event accepted", unlogged: clients}
		if i%2 == 1 {
			m.process, m.counted, m.unlogged = newProcess(t, pool, "worker", config), "effect attempted", concurrency
		}
		m.start(t)
		fleet = append(fleet, m)
	}

	var accepted atomic.Int64
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			for n := 0; accepted.Load() < int64(events); n++ {
				to := fleet[2*((client+n)%3)]
				if status, _ := to.deliver(t.Context(), "invoice.paid", fmt.Sprintf("evt_%d_%d", client, n)); status == http.StatusOK {
					accepted.Add(1)
				}
			}
		})
	}
	lost := map[string]*losses{"event accepted": {}, "effect attempted": {}}
	for accepted.Load() < int64(events) {
		<-time.After(every) // the next kill interrupts a process at work
		m := fleet[rand.IntN(len(fleet))]
		lost[m.counted].add(m.crash(t))
		m.start(t)
	}
	sending.Wait()
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`)+
			count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state <> 'done'`) == 0
	}, 5*time.Minute, 100*time.Millisecond)
	all := []struct{ counted, kind, what, ledger string }{
		{"event accepted", "source", "accepted", `SELECT received_at FROM hooklatch.processed_events`},
		{"effect attempted", "destination", "attempts", `SELECT finished_at FROM hooklatch.all_attempts WHERE NOT lost`},
	}
	for _, of := range all { // until all counts are stored: on a busy machine, a shutdown has too little time for the last ones
		counted, since := -1, time.Now()
		require.Eventually(t, func() bool {
			now := count(t, pool, `SELECT COALESCE(sum(n), 0) FROM hooklatch.minutes WHERE kind = $1 AND what = $2`, of.kind, of.what)
			if now != counted {
				counted, since = now, time.Now()
			}
			missing := int64(count(t, pool, `SELECT count(*) FROM (`+of.ledger+`) AS l`) - counted)
			return missing <= lost[of.counted].all() && time.Since(since) >= 2*measure.AddEvery
		}, patience, 100*time.Millisecond)
	}
	for _, m := range fleet {
		m.stop(t)
	}
	for _, of := range all {
		compare(t, pool, lost[of.counted], of.ledger, of.kind, of.what)
	}
}

// compare compares the sums of the counts with the ledger, in total and minute by minute.
func compare(t *testing.T, pool *pgxpool.Pool, lost *losses, ledger, kind, what string) {
	t.Helper()
	// An occurrence near the turn of a minute may be counted in the neighbouring minute.
	const aside = 200
	rows, err := pool.Query(t.Context(), `
		SELECT minute, sum(happened)::bigint, sum(counted)::bigint
		FROM (
			SELECT date_trunc('minute', l.at), 1, 0 FROM (`+ledger+`) AS l (at)
			UNION ALL
			SELECT m.minute, 0, m.n FROM hooklatch.minutes AS m WHERE m.kind = $1 AND m.what = $2
		) AS a (minute, happened, counted)
		GROUP BY minute`, kind, what)
	require.NoError(t, err)
	var minute time.Time
	var happened, counted, all, allCounted int64
	_, err = pgx.ForEachRow(rows, []any{&minute, &happened, &counted}, func() error {
		all, allCounted = all+happened, allCounted+counted
		if missing := happened - counted; missing < -aside || missing > lost.in(minute)+aside {
			t.Errorf("%s of %s: %d happened, %d were counted, and %d may have been lost", what, minute, happened, counted, lost.in(minute))
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%s: %d happened, %d were counted; %d kills may have lost %d", what, all, allCounted, lost.kills, lost.all())
	require.GreaterOrEqual(t, all, allCounted, "nothing is counted twice")
	require.LessOrEqual(t, all-allCounted, lost.all())
	require.Positive(t, allCounted)
}

// losses contains how many occurrences may be missing from the counts, by minute.
type losses struct {
	kills    int
	byMinute map[time.Time]int64
}

func (l *losses) add(byMinute map[time.Time]int64) {
	if l.byMinute == nil {
		l.byMinute = map[time.Time]int64{}
	}
	l.kills++
	for minute, n := range byMinute {
		l.byMinute[minute] += n
	}
}

func (l *losses) in(minute time.Time) int64 { return l.byMinute[minute.UTC()] }

func (l *losses) all() int64 {
	var n int64
	for _, in := range l.byMinute {
		n += in
	}
	return n
}

// member is one of the running processes.
type member struct {
	*process

	counted  string // the log line for each counted occurrence
	unlogged int64  // occurrences that may be committed but not logged yet
}

// crash kills the process. It returns, by minute, how many occurrences the process may not have
// added to the counts yet.
func (m *member) crash(t *testing.T) map[time.Time]int64 {
	t.Helper()
	at := time.Now()
	m.kill()
	since := at.Add(-measure.AddEvery - 5*time.Second) // adding the counts takes at most 5 seconds
	may := map[time.Time]int64{at.UTC().Truncate(time.Minute): m.unlogged}
	lines := bufio.NewScanner(bytes.NewReader(m.log.Bytes()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Time time.Time `json:"time"`
			Msg  string    `json:"msg"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == m.counted && line.Time.After(since) {
			may[line.Time.UTC().Truncate(time.Minute)]++
		}
	}
	require.NoError(t, lines.Err())
	return may
}

// stop shuts down the process as an operator does.
func (m *member) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, m.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, m.cmd.Wait())
	m.cmd = nil
}
