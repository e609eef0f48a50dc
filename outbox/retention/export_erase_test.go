package retention_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

const canary = "jenny.rosen@example.com"

// batch accepts one delivery with several events, each about a customer.
func (w *world) batch(t *testing.T, source string, customers map[string]string, ids ...string) {
	t.Helper()
	var items []string
	var events []outbox.Incoming
	for i, id := range ids {
		items = append(items, `{"id":"`+id+`","to":"`+customers[id]+`"}`)
		events = append(events, outbox.Incoming{ID: ref(source, id).EventID, Type: "happened", Item: "/" + string(rune('0'+i))})
	}
	_, err := w.Accept(t.Context(), outbox.Delivery{
		Source: ref(source, "").Source, Provider: "hmac", Headers: map[string][]string{"X-Test": {"batch"}}, ContentType: "application/json",
		Body: []byte("[" + strings.Join(items, ",") + "]"), Events: events,
	})
	require.NoError(t, err)
}

// refuse dispatches an event with an effect, and settles the effect as done. The effect's
// request and response contain the canary.
func (w *world) refuse(t *testing.T, source, id string, change ...func(*ledger.NewEffect)) {
	t.Helper()
	effect := w.claim(t, w.dispatch(t, source, id, append(change, func(e *ledger.NewEffect) {
		e.Request = ledger.Request{Method: "POST", URL: "https://example.com/" + canary, ContentType: "text/plain", Body: []byte(canary)}
	})...))
	w.settle(t, ledger.Settlement{Effect: effect, Verdict: ledger.VerdictDone, ResponseStatus: 200, ResponseExcerpt: "hello " + canary})
}

// contents returns everything in the files of an export, decompressed.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range filesIn(t, dir) {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(content))
			require.NoError(t, err)
			content, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		all.Write(content)
	}
	return all.String()
}

// An erasure that selects events by a text in the payload also erases events whose days were
// dropped. Some of these events are still in the database, and only the export has the others.
// Other events of the same delivery keep their bytes. If a storage operation fails, the next call
// completes the erasure.
func TestAnErasureReachesTheExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"old-jenny": canary, "old-other": "someone"}, "old-jenny", "old-other")
	w.refuse(t, "a", "old-jenny")
	w.finish(t, "a", "old-other")
	w.passDays(t, 13)
	w.batch(t, "a", map[string]string{"new-jenny": canary, "copied": "someone"}, "new-jenny", "copied")
	w.refuse(t, "a", "new-jenny")
	w.finish(t, "a", "copied")
	// This delivery repeats an event about the same customer.
	w.batch(t, "a", map[string]string{"new-jenny": canary, "later": "someone"}, "new-jenny", "later")
	w.finish(t, "a", "later")
	w.passDays(t, 7)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.Equal(t, 3, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Contains(t, contents(t, dir), canary)
	require.Contains(t, string(w.shown(t, "a", "old-jenny").Event.Body), canary)

	order := runs.Order{Action: erasure.ActionEraseEvent, Events: find.Events{Content: find.Content{Contains: canary}}}
	preview, err := w.Runs().Preview(t.Context(), order, runs.Bite{})
	require.NoError(t, err)
	require.EqualValues(t, 2, preview.Selected)
	storage := &faulty{Storage: export.Directory(dir), at: -1}
	w.restart(t, storage)
	begun, err := w.Runs().Begin(t.Context(), order, ann)
	require.NoError(t, err)
	interrupted := 0
	for run := begun; run.State == runs.Running; interrupted++ {
		require.Less(t, interrupted, 200)
		storage.at, storage.done = interrupted, 0
		run, err = w.Runs().Carry(t.Context(), begun, nil)
		if run.State == runs.Running {
			require.ErrorIs(t, err, errFault)
		}
	}
	require.Greater(t, interrupted, 8)
	w.restart(t, export.Directory(dir))
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))

	require.NotContains(t, contents(t, dir), "jenny.rosen")
	w.onlyNeeded(t, dir, 2)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	for _, id := range []string{"old-jenny", "new-jenny"} {
		e := w.shown(t, "a", id).Event
		require.Equal(t, "erased by ann", e.Error, id)
		require.False(t, e.ErasedAt.IsZero())
		require.NotContains(t, string(e.Body), canary)
		require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'event.erase' AND target = $1`, "a/"+id))
	}
	require.JSONEq(t, `[null,{"id":"old-other","to":"someone"}]`, string(w.shown(t, "a", "old-other").Event.Body))
	require.JSONEq(t, `[null,{"id":"copied","to":"someone"}]`, string(w.shown(t, "a", "copied").Event.Body))
	require.JSONEq(t, `[null,{"id":"later","to":"someone"}]`, string(w.shown(t, "a", "later").Event.Body))

	// An operator erases one event that only the export has.
	erased, err := w.Erasure().Event(t.Context(), ref("a", "old-other"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, 1, erased.Effects)
	require.NotContains(t, contents(t, dir), `"someone\"},`)
	require.Empty(t, w.shown(t, "a", "old-other").Event.Body)
	_, err = w.Erasure().Event(t.Context(), ref("a", "never"), ann, erasure.Order{})
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// leaveUnfinished writes the part of a day's export, and fails before the day is finished.
func (w *world) leaveUnfinished(t *testing.T, dir string, today time.Time) {
	t.Helper()
	w.restart(t, &faulty{Storage: export.Directory(dir), at: 2})
	require.ErrorIs(t, w.Export().Export(t.Context(), today, nil), errFault)
	w.restart(t, export.Directory(dir))
}

// An event that is erased while its day is being exported is erased in the export too.
func TestAnErasureDuringAnExportReachesTheExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"one": canary}, "one")
	w.refuse(t, "a", "one")
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 5)
	w.pass(t, day)
	w.leaveUnfinished(t, dir, today)
	_, err := w.Erasure().Event(t.Context(), ref("a", "one"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	w.keep(t, exportSettings)
	require.Empty(t, w.shown(t, "a", "one").Event.Body, "the noted erasure applies to every reader")
	w.passDays(t, 1)
	require.NotContains(t, contents(t, dir), "jenny.rosen")
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}

// A process with an export begins a day, and a process without an export drops the day. Erasures do
// not wait for that day, whose files are deleted.
func TestErasuresDoNotWaitForADayThatWasDroppedUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"jenny": canary}, "jenny")
	w.refuse(t, "a", "jenny")
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 5)
	w.pass(t, day)
	w.leaveUnfinished(t, dir, today)
	require.Contains(t, contents(t, dir), "jenny.rosen")
	w.noteErasure(t)
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`), "the day may still be finished")

	w.run(t, `DROP TABLE hooklatch.deliveries_`+today.Format("20060102"))
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.exported_days WHERE manifest = ''`))
	require.NotContains(t, contents(t, dir), "jenny.rosen")
}

// While an erasure walks through the exported days, an export finishes a day that still contains
// the erased event. The export finishes the day before or after the walk has reached it. In the
// second case, the next call erases the event in that day.
func TestADayThatIsFinishedDuringAnErasureIsErased(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 2} {
		dir := t.TempDir()
		w := exporting(t, export.Directory(dir))
		w.done(t, "a", "earlier")
		w.passDays(t, 1)
		w.batch(t, "a", map[string]string{"jenny": canary}, "jenny")
		w.refuse(t, "a", "jenny")
		today := w.now(t).UTC().Truncate(day)
		w.passDays(t, 5)
		require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.exported_days WHERE events > 0`))
		w.pass(t, day)
		w.leaveUnfinished(t, dir, today)
		w.noteErasure(t)
		days := 0
		require.NoError(t, w.Erasure().Exported(t.Context(), func(ctx context.Context) error {
			if days++; days != at {
				return nil
			}
			return w.Export().Export(ctx, today, nil)
		}))
		require.GreaterOrEqual(t, days, at)
		if at == 1 {
			require.NotContains(t, contents(t, dir), "jenny.rosen")
		}
		require.NoError(t, w.Erasure().Exported(t.Context(), nil))
		require.NotContains(t, contents(t, dir), "jenny.rosen")
		require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	}
}

// An event is erased after the export has read its delivery, and before the export reads its row.
func TestAnErasureBetweenTwoReadsOfAnExportReachesTheExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"jenny": canary}, "jenny")
	w.refuse(t, "a", "jenny")
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 2)
	// Only the statement that reads the events reads event_replays.
	erasing, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = erasing.Rollback(context.WithoutCancel(t.Context())) })
	_, err = erasing.Exec(t.Context(), `LOCK TABLE hooklatch.event_replays IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	exported := make(chan error, 1)
	go func() { exported <- w.Export().Export(t.Context(), today, nil) }()
	require.Eventually(t, func() bool {
		return w.count(t, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'hooklatch.event_replays'::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 1
	}, 2*time.Minute, 10*time.Millisecond)
	_, err = erasing.Exec(t.Context(), `SELECT * FROM hooklatch.erase_event('a', 'jenny', 'erased by ann', false)`)
	require.NoError(t, err)
	require.NoError(t, erasing.Commit(t.Context()))
	require.NoError(t, <-exported)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	require.NotContains(t, contents(t, dir), "jenny.rosen")
	require.Empty(t, w.shown(t, "a", "jenny").Event.Body)
}

// finish dispatches an accepted event with an effect, and settles the effect as done.
func (w *world) finish(t *testing.T, source, id string) {
	t.Helper()
	w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, source, id)), Verdict: ledger.VerdictDone, ResponseStatus: 200})
}

// New redaction rules of a source also redact days that were exported under its former rules.
func TestNewRulesOfARedactionReachTheExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	redact := func(pointers ...string) {
		_, err := w.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "a", Pointers: pointers}})
		require.NoError(t, err)
	}
	w.batch(t, "a", map[string]string{"one": canary, "two": canary}, "one", "two")
	w.finish(t, "a", "one")
	w.finish(t, "a", "two")
	for range 7 { // redaction runs at least once in three days
		redact("/name")
		w.passDays(t, 1)
	}
	require.Contains(t, contents(t, dir), canary, "the former rules do not name the value")
	redact("/name", "/to")
	w.passDays(t, 1)
	require.NotContains(t, contents(t, dir), "jenny.rosen")
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}

// A body that is redacted before its day is exported is exported in its redacted form.
func TestARedactedBodyIsExported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "b", map[string]string{"earlier": "someone"}, "earlier")
	w.finish(t, "b", "earlier")
	w.passDays(t, 3)
	w.batch(t, "a", map[string]string{"one": canary}, "one")
	w.finish(t, "a", "one")
	w.passDays(t, 3)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.exported_days WHERE events > 0`))
	for _, pointers := range [][]string{{"/to"}, {"/to", "/name"}} {
		_, err := w.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "a", Pointers: pointers}})
		require.NoError(t, err)
	}
	w.passDays(t, 4)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.NotContains(t, contents(t, dir), "jenny.rosen")
	require.JSONEq(t, `[{"id":"one","to":"redacted"}]`, string(w.shown(t, "a", "one").Event.Body))
}

// After an event has left the database, a replay from the export creates effects. They have new
// keys, a new route or the former key, or a handler enqueued them. When the event has left the
// database again, its erasure erases these effects too.
func TestAnErasureReachesEffectsOfAReplayFromTheExport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		days    int
		newKeys bool
		change  []func(*ledger.NewEffect)
		after   string
		effects int
	}{
		"new keys":     {days: 14, newKeys: true, effects: 2},
		"new route":    {days: 14, change: []func(*ledger.NewEffect){func(e *ledger.NewEffect) { e.Scope, e.Route = identity.ScopeOfRoute("a", "new"), "new" }}, effects: 2},
		"again":        {days: 25, effects: 1},
		"by a handler": {days: 14, newKeys: true, after: `UPDATE hooklatch.effects SET source = '', event_id = '' WHERE generation = 2`, effects: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := exporting(t, export.Directory(t.TempDir()))
			w.done(t, "a", "one")
			w.passDays(t, test.days)
			_, err := w.Inbox().Replay(t.Context(), ref("a", "one"), ann, inbox.ReplayOptions{NewKeys: test.newKeys})
			require.NoError(t, err)
			w.refuse(t, "a", "one", test.change...)
			if test.after != "" {
				w.run(t, test.after)
			}
			w.passDays(t, 2)
			require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
			const has = `SELECT (SELECT count(*) FROM hooklatch.effects WHERE request_url LIKE '%jenny%') + (SELECT count(*) FROM hooklatch.attempts WHERE response_excerpt LIKE '%jenny%')`
			require.Equal(t, 2, w.count(t, has))
			came, err := w.Erasure().Event(t.Context(), ref("a", "one"), ann, erasure.Order{})
			require.NoError(t, err)
			require.Equal(t, test.effects, came.Effects)
			require.Zero(t, w.count(t, has))
		})
	}
}

// An effect is not erased alone while the export has the event that created it: the effect's texts would
// stay in the export.
func TestAnEffectOfAnExportedEventIsErasedWithTheEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"one": "someone"}, "one")
	w.refuse(t, "a", "one")
	w.passDays(t, 14)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Contains(t, contents(t, dir), canary)
	_, err := w.Erasure().Effect(t.Context(), effectOf("a", "one").IdempotencyKey(), ann, erasure.Order{})
	require.ErrorContains(t, err, "it was created by event a/one: erase the event to erase its effects too")

	// An earlier effect of the event has the key of another route, which the export does not know.
	w.run(t, `INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id)
		VALUES ('unknown', 'one', 1, 'unknown', 'app', 'dst_app', 'at_least_once', 'a', 'one')`)
	require.NoError(t, w.Ledger().Cancel(t.Context(), "unknown", ann))
	_, err = w.Erasure().Effect(t.Context(), "unknown", ann, erasure.Order{})
	require.NoError(t, err, "an erasure of the event would not reach the effect")

	_, err = w.Erasure().Event(t.Context(), ref("a", "one"), ann, erasure.Order{})
	require.NoError(t, err)
	require.NotContains(t, contents(t, dir), "jenny.rosen")
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.effects WHERE erased_at IS NULL`))
}
