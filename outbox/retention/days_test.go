package retention_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// The test simulates months. The events of one source are remembered for 400 days, and the events
// of four other sources for 30 days. Payloads are kept for 10 days. The settings determine the
// remaining rows. Unfinished work keeps its payloads, and the cost of deleting a row does not grow.
// HOOKLATCH_LONG=1 runs 120 days of 100 events.
func TestAfterMonthsIsLeftWhatTheSettingsSay(t *testing.T) {
	t.Parallel()
	days, aDay := 45, 1 // number of days, and of events per day and source
	if os.Getenv("HOOKLATCH_LONG") != "" {
		days, aDay = 120, 20
	}
	w := watchedWorld(t)
	settings := retention.Settings{
		Dedup:    map[identity.Source]time.Duration{"slow": 400 * day, "a": 30 * day, "b": 30 * day, "c": 30 * day, "d": 30 * day},
		Payloads: 10 * day,
	}
	sources := []string{"slow", "a", "b", "c", "d"}
	// Every 15 days one unit of each kind of unfinished work starts.
	kinds := allUnfinished()
	begun := map[string]unfinished{}
	var deleted int64
	var perRow []float64
	for today := range days {
		if today > 0 {
			w.pass(t, day)
		}
		for _, source := range sources {
			for i := range aDay {
				w.done(t, source, fmt.Sprintf("%s-%d-%d", source, today, i))
			}
		}
		if today%15 == 0 {
			for _, kind := range kinds {
				id := fmt.Sprintf("%s-%d", kind.name, today)
				kind.begin(t, w, "a", id)
				begun[id] = kind
			}
		}
		if w.plans != nil {
			_, err := w.plans.Take()
			require.NoError(t, err)
		}
		report := w.keep(t, settings)
		require.True(t, report.Complete)
		require.False(t, report.Stopped)
		var gone int64
		for _, p := range report.Parts {
			if p.What == retention.Events {
				gone += p.Rows
			}
		}
		deleted += gone
		if w.plans != nil && gone > 0 {
			perRow = append(perRow, float64(w.buffers(t, "delete_events"))/float64(gone))
		}
	}

	// Each source still has the events of its dedup period. Source "a" also has the events of
	// unfinished work.
	for _, source := range sources {
		kept := 30
		if source == "slow" {
			kept = days
		}
		require.Equal(t, kept*aDay, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND event_id LIKE $1 || '-%'`, source), source)
	}
	require.EqualValues(t, 4*(days-30)*aDay, deleted)
	require.Equal(t, len(begun), w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a' AND event_id NOT LIKE 'a-%'`))
	require.Equal(t, days*5*aDay+len(begun)-2*len(begun)/len(kinds), w.count(t, `SELECT count(*) FROM hooklatch.effects`), "history is 430 days")

	// Retention keeps the last ten days of deliveries, the day just begun, and the days ahead. It
	// drops the other days, which frees their disk space.
	require.Equal(t, 11, w.count(t, `SELECT count(*) FROM pg_class
		WHERE relnamespace = 'hooklatch'::regnamespace AND relname ~ '^deliveries_[0-9]{8}$' AND to_date(right(relname, 8), 'YYYYMMDD') <= (now() AT TIME ZONE 'UTC')::date`))
	old := 0
	for id := range begun {
		if at, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:]); at < days-11 {
			old++
		}
	}
	require.GreaterOrEqual(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`), old)
	require.LessOrEqual(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`), len(begun))

	if len(perRow) > 0 {
		t.Logf("buffers per deleted event: first %.1f, last %.1f", perRow[0], perRow[len(perRow)-1])
		for _, n := range perRow {
			require.Less(t, n, 60.0)
		}
	}

	for id, kind := range begun {
		kind.goOn(t, w, "a", id)
	}
	// The work has ended, so retention deletes its rows.
	w.pass(t, day)
	w.keep(t, settings)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a' AND received_at < now() - interval '30 days'`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.events_kept`))
}

// buffers returns the number of buffers that a statement of retention has read since plans.Take was
// last called.
func (w *world) buffers(t *testing.T, statement string) int {
	t.Helper()
	text, err := os.ReadFile("query/" + statement + ".sql")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	ran, err := w.plans.Take()
	require.NoError(t, err)
	n := 0
	for _, s := range ran {
		if strings.Contains(s.Text, first) {
			n += s.Buffers
		}
	}
	require.NotZero(t, n, statement)
	return n
}

// Retention deletes expired effects that have ended and whose event is deleted, and drops the days
// of their details. A parked effect keeps all its rows.
func TestEffectsAndTheirDetailsGoTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}, Other: 5 * day, Payloads: 2 * day, History: 8 * day}
	parked := allUnfinished()[5]
	parked.begin(t, w, "a", "parked")
	for today := range 20 {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("done-", today))
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Equal(t, 9, w.count(t, `SELECT count(*) FROM hooklatch.effects`), "the effects of eight days and the parked effect stay")
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE key = 'parked'`))
	require.Equal(t, 10+1, w.count(t, `SELECT count(*) FROM hooklatch.attempts`), "the attempts of nine days and of the day just begun, and the parked effect's attempt, stay")
	require.Equal(t, 10+1, w.count(t, `SELECT count(*) FROM hooklatch.links`))
	parked.goOn(t, w, "a", "parked")
	for range 10 {
		w.pass(t, day)
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.effects WHERE key = 'parked'`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.links WHERE key = 'parked'`))
	for _, whole := range []string{"attempts", "transitions", "links"} {
		require.LessOrEqual(t, w.count(t, `SELECT count(*) FROM pg_class WHERE relnamespace = 'hooklatch'::regnamespace
			AND relname ~ ('^' || $1 || '_[0-9]{8}$') AND to_date(right(relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date`, whole), 10, whole)
	}
}

// An event whose delivery has expired cannot be replayed, and the error gives the reason.
func TestWhatIsPastItsTimeIsNotReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.done(t, "a", "old")
	settings := retention.Settings{Payloads: day}
	for range 3 {
		w.pass(t, day)
		w.keep(t, settings)
	}
	_, err := w.Inbox().Replay(t.Context(), ref("a", "old"), ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)
	require.ErrorContains(t, err, "has expired")
	require.Nil(t, w.loaded(t, "a", "old").Body)
}

// A run was interrupted after it had detached a day, but before it copied the deliveries that are
// needed. The next run copies them and drops the day.
func TestARunFinishesWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kinds := allUnfinished()
	for _, kind := range kinds {
		kind.begin(t, w, "a", kind.name)
	}
	var part string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT 'deliveries_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')`).Scan(&part))
	w.pass(t, 3*day)
	w.run(t, `ALTER TABLE hooklatch.deliveries DETACH PARTITION hooklatch.`+part)
	report := w.keep(t, retention.Settings{Payloads: day})
	require.True(t, report.Complete)
	require.Zero(t, w.count(t, `SELECT count(*) FROM pg_class WHERE relname = $1`, part))
	require.Equal(t, len(kinds), w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
	for _, kind := range kinds {
		kind.goOn(t, w, "a", kind.name)
	}
}

// A run first finishes detaching a day of another date, because Postgres allows only one
// half-detached day in a table.
func TestARunFinishesADayOfAnotherTimeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var days []string
	for range 2 {
		var today string
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')`).Scan(&today))
		days = append(days, today)
		w.pass(t, day)
	}
	w.pass(t, day)
	reader, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = reader.Rollback(context.Background()) }()
	_, err = reader.Exec(t.Context(), `SELECT FROM hooklatch.deliveries LIMIT 1`)
	require.NoError(t, err)
	w.interrupt(t, `ALTER TABLE hooklatch.deliveries DETACH PARTITION hooklatch.deliveries_`+days[1]+` CONCURRENTLY`)
	require.NoError(t, reader.Rollback(t.Context()))
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM pg_inherits WHERE inhdetachpending`))

	report := w.keep(t, retention.Settings{Payloads: day})
	require.True(t, report.Complete)
	for _, day := range days {
		require.Zero(t, w.count(t, `SELECT count(*) FROM pg_class WHERE relname = 'deliveries_' || $1`, day))
	}
}

// interrupt starts a statement, and cancels it when it waits for a lock.
func (w *world) interrupt(t *testing.T, sql string) {
	t.Helper()
	conn, err := w.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	pid := conn.Conn().PgConn().PID()
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		ended <- err
	}()
	w.waits(t, pid)
	w.run(t, `SELECT pg_cancel_backend($1)`, pid)
	require.Error(t, <-ended)
}

// A copy of a delivery waits for an erasure in progress, and then contains no body.
func TestACopyWaitsForWhoErases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept(t, "a", "evt_1")
	var came string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT (now() AT TIME ZONE 'UTC')::date::text`).Scan(&came))
	w.pass(t, 2*day)
	erasing, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = erasing.Rollback(context.Background()) }()
	_, err = erasing.Exec(t.Context(), `SELECT hooklatch.empty_delivery(delivery_id, received_at, source) FROM hooklatch.processed_events`)
	require.NoError(t, err)

	copying, err := w.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer copying.Release()
	ended := make(chan error, 1)
	go func() {
		_, err := copying.Exec(t.Context(), `SELECT hooklatch.keep_deliveries($1::text::date, array_agg(accept_seq)) FROM hooklatch.processed_events`, came)
		ended <- err
	}()
	w.waits(t, copying.Conn().PgConn().PID())
	require.NoError(t, erasing.Commit(t.Context()))
	require.NoError(t, <-ended)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept WHERE body = ''`))
}

// waits returns when a server process waits for a lock.
func (w *world) waits(t *testing.T, pid uint32) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.count(t, `SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`, pid) == 1
	}, 2*time.Minute, 10*time.Millisecond)
}
