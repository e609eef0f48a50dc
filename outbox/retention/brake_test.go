package retention_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// usual simulates 40 days, with retention each day.
func usual(t *testing.T) (*world, retention.Settings) {
	t.Helper()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 30 * day, "b": 30 * day}, Payloads: 20 * day}
	for today := range 40 {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("a-", today))
		w.done(t, "b", fmt.Sprint("b-", today))
		report := w.keep(t, settings)
		require.False(t, report.Stopped, "day %d: %+v", today, report.Parts)
	}
	return w, settings
}

// stands returns the counts of all rows that retention could delete.
func (w *world) stands(t *testing.T) string {
	t.Helper()
	return fmt.Sprint(
		w.count(t, `SELECT count(*) FROM hooklatch.processed_events`), w.count(t, `SELECT count(*) FROM hooklatch.deliveries`),
		w.count(t, `SELECT count(*) FROM hooklatch.effects`), w.count(t, `SELECT count(*) FROM hooklatch.attempts`),
		w.count(t, `SELECT count(*) FROM hooklatch.links`), w.count(t, `SELECT count(*) FROM hooklatch.transitions`),
	)
}

func TestAShortenedSettingDeletesNothingUntilAPersonSaysSo(t *testing.T) {
	t.Parallel()
	w, settings := usual(t)
	before := w.stands(t)
	short := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 30 * day, "b": 10 * day}, Payloads: 5 * day, History: settings.WithDefaults().History}
	for range 2 {
		report := w.keep(t, short)
		require.True(t, report.Stopped)
		require.False(t, report.Complete)
		require.Equal(t, before, w.stands(t))
	}
	waiting := 0
	progress, err := w.Retention().Progress(t.Context())
	require.NoError(t, err)
	for _, p := range progress {
		if !p.StoppedSince.IsZero() {
			waiting++
		}
	}
	require.Equal(t, 2, waiting, "payloads and the events of b wait for an operator")

	plan, err := w.Retention().Plan(t.Context(), short)
	require.NoError(t, err)
	require.True(t, plan.Stopped)
	require.Equal(t, before, w.stands(t))
	for _, p := range plan.Parts {
		switch {
		case p.What == retention.Events && p.Source == "b":
			require.EqualValues(t, 20, p.Rows)
			require.True(t, p.Stopped)
		case p.What == retention.Events:
			require.Zero(t, p.Rows)
		case p.What == retention.Payloads:
			require.True(t, p.Stopped)
			require.NotZero(t, p.Bytes)
		}
	}

	report, err := w.Retention().Run(t.Context(), retention.Order{Settings: short, Approved: &ann})
	require.NoError(t, err)
	require.True(t, report.Complete)
	require.Equal(t, 10, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'b'`))
	require.Equal(t, 30, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'retention.run' AND who = 'ann'`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.retention_progress WHERE stopped_since IS NOT NULL`))
	w.pass(t, day)
	require.False(t, w.keep(t, short).Stopped, "retention continues without an operator from there")
}

func TestAClockThatJumpsDeletesNothingUntilAPersonSaysSo(t *testing.T) {
	t.Parallel()
	w, settings := usual(t)
	before := w.stands(t)
	w.jump(t, 365*day)
	for range 2 {
		require.True(t, w.keep(t, settings).Stopped)
		require.Equal(t, before, w.stands(t))
	}
	w.jump(t, -365*day)
	w.pass(t, day)
	require.False(t, w.keep(t, settings).Stopped, "the clock is right again")
	require.Equal(t, 29, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
}

// An operator approves a run under a clock that is a year ahead. Once the clock is right, retention
// deletes expired rows again immediately, and not only after a year.
func TestAHorizonOfTheFutureIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}, Payloads: 2 * day}
	w.done(t, "a", "first")
	w.keep(t, settings)
	w.jump(t, 365*day)
	_, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings, Approved: &ann})
	require.NoError(t, err)
	w.jump(t, -365*day)
	w.pass(t, 0) // recreate today's partitions, which the approved run dropped
	for today := range 20 {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("a-", today))
		require.False(t, w.keep(t, settings).Stopped, "day %d", today)
	}
	require.Equal(t, 5, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
}

// On a database in which retention never ran, the first run also waits for an operator.
func TestTheFirstRunOnAnOldDatabaseWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 40 {
		w.pass(t, day)
		w.done(t, "a", strconv.FormatInt(w.now(t).Unix(), 10))
	}
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 30 * day}}
	require.True(t, w.keep(t, settings).Stopped)
	require.Equal(t, 40, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	report, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings, Approved: &ann})
	require.NoError(t, err)
	require.True(t, report.Complete)
	require.Equal(t, 30, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// While processes with different configurations run, the longest setting applies. A source that no
// configuration contains gets the setting Other.
func TestTheLongestSettingOfAllRunningProcessesCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	longer := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 4 * day}, Payloads: 3 * day, Other: 5 * day}
	shorter := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 2 * day}, Payloads: 2 * day, Other: 5 * day}
	for today := range 10 {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("a-", today))
		w.done(t, "gone", fmt.Sprint("g-", today))
		require.NoError(t, w.Retention().Announce(t.Context(), retention.Process{Name: "old", Kind: "worker", Settings: longer}))
		require.False(t, w.keep(t, shorter).Stopped)
	}
	require.Equal(t, 4, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
	require.Equal(t, 5, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'gone'`))
	// A killed process does not withdraw, but stops announcing itself.
	w.jump(t, 2*retention.PresumedGone)
	require.False(t, w.keep(t, shorter).Stopped)
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
	require.NoError(t, w.Retention().Announce(t.Context(), retention.Process{Name: "old", Kind: "worker", Settings: longer}))
	for today := 10; today < 14; today++ {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("a-", today))
		require.NoError(t, w.Retention().Announce(t.Context(), retention.Process{Name: "old", Kind: "worker", Settings: longer}))
		require.False(t, w.keep(t, shorter).Stopped)
	}
	require.NoError(t, w.Retention().Withdraw(t.Context(), "old"))
	require.False(t, w.keep(t, shorter).Stopped)
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a'`))
}
