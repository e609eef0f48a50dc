package retention_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// exporting returns a world that exports to a storage.
func exporting(t *testing.T, s export.Storage) *world {
	t.Helper()
	w := newWorld(t)
	w.restart(t, s)
	return w
}

// restart replaces the world's Outbox, as a new process would.
func (w *world) restart(t *testing.T, s export.Storage) {
	t.Helper()
	w.Outbox = w.process(t, s)
}

// process returns an Outbox of another process on the world's database.
func (w *world) process(t *testing.T, s export.Storage) *outbox.Outbox {
	t.Helper()
	box, err := outbox.New(outbox.Options{Pool: w.pool, AcceptTimeout: time.Minute, Export: s})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.WithoutCancel(t.Context()))) })
	return box
}

// shown returns an event as operators see it.
func (w *world) shown(t *testing.T, source, id string) *life.Event {
	t.Helper()
	e, err := w.Inbox().Recall(t.Context(), ref(source, id))
	require.NoError(t, err, id)
	l, err := life.ReadEvent(t.Context(), w.Outbox, e)
	require.NoError(t, err, id)
	return l
}

var exportSettings = retention.Settings{Other: 12 * day, Payloads: 5 * day, History: 20 * day}

// passDays lets days pass, with a run of retention on each.
func (w *world) passDays(t *testing.T, days int) {
	t.Helper()
	for range days {
		w.pass(t, day)
		w.keep(t, exportSettings)
	}
}

// An event looks the same before its day is dropped, after its delivery was dropped, and after its
// rows were deleted too. Only ExportedDay, Recalled and AcceptSeq may differ.
func TestAnExportedEventIsShownAsItWasStored(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	w.done(t, "a", "done")
	w.accept(t, "a", "refused")
	failed := w.claim(t, w.dispatch(t, "a", "refused"))
	w.settle(t, ledger.Settlement{Effect: failed, Verdict: ledger.VerdictRefused, ResponseStatus: 422, ResponseExcerpt: "no such customer", Error: "status 422"})
	binary := []byte{0, 0xff, '"', '\\', 0xc3, 0x28}
	_, err := w.Accept(t.Context(), outbox.Delivery{
		Source: "a", Provider: "hmac", Headers: map[string][]string{"X-B": {"1", "2"}}, ContentType: "application/octet-stream", Body: binary,
		Events: []outbox.Incoming{{ID: "binary", Type: "happened"}},
	})
	require.NoError(t, err)
	_, err = w.Dispatch(t.Context(), outbox.Dispatch{Event: w.loaded(t, "a", "binary")})
	require.NoError(t, err)

	ids := []string{"done", "binary"}
	before := map[string]*life.Event{}
	for _, id := range ids {
		before[id] = w.shown(t, "a", id)
		require.Empty(t, before[id].Event.ExportedDay)
	}
	exportedOn := before["done"].Event.ReceivedAt.UTC().Format(time.DateOnly)
	w.passDays(t, 7)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries WHERE received_at < now() - interval '7 days'`))
	require.Equal(t, 3, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	same := func(id string) {
		now := w.shown(t, "a", id)
		require.Equal(t, exportedOn, now.Event.ExportedDay)
		recalled := now.Event.Recalled
		now.Event.ExportedDay, now.Event.Recalled = "", nil
		before[id].Event.AcceptSeq, now.Event.AcceptSeq = 0, 0
		require.Equal(t, before[id].Event.Body, now.Event.Body)
		require.Equal(t, jsonOf(t, before[id].Data()), jsonOf(t, now.Data()))
		now.Event.Recalled = recalled
	}
	for _, id := range ids {
		same(id)
		require.Nil(t, w.shown(t, "a", id).Event.Recalled, "its row is still stored")
	}
	w.passDays(t, 7)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`), "the event with the failed effect waits for an operator")
	for _, id := range ids {
		same(id)
		require.NotNil(t, w.shown(t, "a", id).Event.Recalled)
	}
	_, err = w.Inbox().Recall(t.Context(), ref("a", "never"))
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// Two databases that export to directories of one storage do not affect each other.
func TestTwoDatabasesShareAStorage(t *testing.T) {
	t.Parallel()
	shared := export.Directory(filepath.Join(t.TempDir(), "new"))
	var worlds []*world
	for _, s := range []export.Storage{shared, export.Under(shared, "cell-payments")} {
		w := exporting(t, s)
		w.done(t, "a", "one")
		worlds = append(worlds, w)
	}
	require.Equal(t, shared.String()+"/cell-payments", export.Under(shared, "cell-payments").String())
	for _, w := range worlds {
		w.passDays(t, 7)
	}
	require.NotEmpty(t, worlds[0].shown(t, "a", "one").Event.Body)
	_, err := worlds[0].Erasure().Event(t.Context(), ref("a", "one"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Empty(t, worlds[0].shown(t, "a", "one").Event.Body)
	require.NotEmpty(t, worlds[1].shown(t, "a", "one").Event.Body)
	require.NotEmpty(t, worlds[1].shown(t, "a", "one").Event.ExportedDay)
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// faulty is a storage that fails at one operation, before or after it carries out the operation.
type faulty struct {
	export.Storage

	at, done int // operations before the one that fails, and operations so far
	after    bool
	flip     bool // instead of failing, change one byte of a part
}

var errFault = errors.New("fault")

func (f *faulty) step(do func() error) error {
	f.done++
	if f.done-1 != f.at {
		return do()
	}
	if f.after {
		_ = do()
	}
	return errFault
}

func (f *faulty) Put(ctx context.Context, name string, content []byte) error {
	if f.flip {
		if strings.HasSuffix(name, ".jsonl.gz") {
			content = bytes.Clone(content)
			content[len(content)/2] ^= 1
		}
		return f.Storage.Put(ctx, name, content)
	}
	return f.step(func() error { return f.Storage.Put(ctx, name, content) })
}

func (f *faulty) Get(ctx context.Context, name string, offset, length int64) (content []byte, err error) {
	if f.flip {
		return f.Storage.Get(ctx, name, offset, length)
	}
	err = f.step(func() (err error) { content, err = f.Storage.Get(ctx, name, offset, length); return err })
	return content, err
}

func (f *faulty) Delete(ctx context.Context, name string) error {
	if f.flip {
		return f.Storage.Delete(ctx, name)
	}
	return f.step(func() error { return f.Storage.Delete(ctx, name) })
}

// No delivery is lost if a storage operation fails, or succeeds without a response: the delivery is
// in its table or in the export. The next run continues, and leaves no file that the export does
// not need.
func TestAFailureOfTheExportLosesNothing(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		dir := t.TempDir()
		w := exporting(t, export.Directory(dir))
		w.done(t, "a", "first")
		w.accept(t, "a", "second")
		_, err := w.Dispatch(t.Context(), outbox.Dispatch{Event: w.loaded(t, "a", "second")})
		require.NoError(t, err)
		w.passDays(t, 5)
		w.pass(t, day)
		failed := 0
		for i := 0; ; i++ {
			w.restart(t, &faulty{Storage: export.Directory(dir), at: i, after: after})
			_, err := w.Retention().Run(t.Context(), retention.Order{Settings: exportSettings})
			healthy := w.Outbox
			w.restart(t, export.Directory(dir))
			for _, id := range []string{"first", "second"} {
				require.Equal(t, bodyOf(id), w.shown(t, "a", id).Event.Body, "after a failure at operation %d", i)
			}
			stored := w.count(t, `SELECT count(*) FROM hooklatch.deliveries`)
			w.Outbox = healthy
			if err == nil && stored == 0 {
				break
			}
			failed++
			require.ErrorIs(t, err, errFault)
			require.Less(t, i, 100)
		}
		require.Greater(t, failed, 5)
		w.restart(t, export.Directory(dir))
		w.passDays(t, 1)
		w.onlyNeeded(t, dir, 1)
	}
}

// A damaged part is detected when the export reads it back. The rows of its day are not dropped, and
// the day is exported again.
func TestADamagedPartIsFoundBeforeItsDayIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, &faulty{Storage: export.Directory(dir), flip: true})
	w.done(t, "a", "first")
	w.passDays(t, 5)
	w.pass(t, day)
	_, err := w.Retention().Run(t.Context(), retention.Order{Settings: exportSettings})
	require.ErrorContains(t, err, "is damaged: its SHA-256 is")
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	days, err := w.Export().Days(t.Context())
	require.NoError(t, err)
	require.Contains(t, days[0].Error, "is damaged")
	require.False(t, days[0].FailedSince.IsZero())

	w.restart(t, export.Directory(dir))
	w.keep(t, exportSettings)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.Equal(t, bodyOf("first"), w.shown(t, "a", "first").Event.Body)
	days, err = w.Export().Days(t.Context())
	require.NoError(t, err)
	require.Empty(t, days[0].Error)

	// Every reader detects a byte that has changed later.
	for _, suffix := range []string{".jsonl.gz", ".index", ".json"} {
		for _, name := range filesIn(t, dir) {
			if !strings.HasSuffix(name, suffix) {
				continue
			}
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			content[len(content)/2] ^= 1
			require.NoError(t, os.WriteFile(name, content, 0o600))
			w.restart(t, export.Directory(dir)) // the new process has no manifest in memory
			_, err = w.Inbox().Recall(t.Context(), ref("a", "first"))
			var damaged *export.CorruptError
			require.ErrorAs(t, err, &damaged, name)
			require.Equal(t, name, filepath.Join(dir, damaged.Name))
			content[len(content)/2] ^= 1
			require.NoError(t, os.WriteFile(name, content, 0o600))
		}
	}
}

// Retention compares a day that is already exported with its table before it drops the day.
func TestADayThatChangedAfterItsExportIsExportedAgain(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	w.done(t, "a", "first")
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 2)
	require.NoError(t, w.Export().Export(t.Context(), today, nil))
	w.run(t, `
		WITH delivery AS (
			INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
			SELECT gen_random_uuid(), received_at, source, headers, content_type, 'late' FROM hooklatch.deliveries
			RETURNING delivery_id, received_at
		)
		INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome)
		SELECT 'a', 'late', nextval('hooklatch.accept_seq'), gen_random_uuid(), 'hmac', 'happened', received_at, delivery_id, '', '', 'skipped' FROM delivery`)
	w.passDays(t, 3)
	w.pass(t, day)
	_, err := w.Retention().Run(t.Context(), retention.Order{Settings: exportSettings})
	require.ErrorContains(t, err, "the deliveries in the export differ from those in the table: 1 instead of 2")
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	w.keep(t, exportSettings)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.Equal(t, "late", string(w.shown(t, "a", "late").Event.Body))
}

// onlyNeeded requires that an export has the given number of parts, with their indexes, one
// manifest for each day, and no other files.
func (w *world) onlyNeeded(t *testing.T, dir string, parts int) {
	t.Helper()
	require.Len(t, filesIn(t, dir), 2*parts+w.count(t, `SELECT count(*) FROM hooklatch.exported_days`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.exported_days WHERE garbage <> '{}'`))
}

// filesIn lists the files of an export.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// An event whose day was dropped can be replayed like a stored event, both while its row is stored
// and afterwards. The rows that the replay restored are deleted when the replay's work has ended.
func TestAnEventOfADroppedDayIsReplayed(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	w.done(t, "a", "one")
	before := w.shown(t, "a", "one").Event
	for generation, wait := range []int{7, 7} {
		w.passDays(t, wait)
		require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
		require.Equal(t, generation == 0, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`) == 1)
		replayed, err := w.Inbox().Replay(t.Context(), ref("a", "one"), ann, inbox.ReplayOptions{NewKeys: true})
		require.NoError(t, err)
		require.Equal(t, generation+2, replayed.Generation, "the generation follows the last known replay")
		e := w.loaded(t, "a", "one")
		require.Equal(t, inbox.Received, e.Outcome)
		require.Equal(t, before.Body, e.Body)
		require.Equal(t, before.Headers, e.Headers)
		require.True(t, before.ReceivedAt.Equal(e.ReceivedAt))
		w.keep(t, exportSettings)
		w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, "a", "one")), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	}
	w.passDays(t, 2)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.events_kept`))

	_, err := w.Erasure().Event(t.Context(), ref("a", "one"), ann, erasure.Order{})
	require.NoError(t, err)
	_, err = w.Inbox().Replay(t.Context(), ref("a", "one"), ann, inbox.ReplayOptions{NewKeys: true})
	require.ErrorContains(t, err, "its content was erased on")
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`), "nothing is restored")
}

// A bulk run replays events whose deliveries only the export has.
func TestARunReplaysEventsOfDroppedDays(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	w.done(t, "a", "one")
	w.done(t, "a", "two")
	w.passDays(t, 7)
	order := runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Content: find.Content{Contains: "two"}}}
	run, err := w.Runs().Through(t.Context(), order, ann, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, run.Changed)
	require.Equal(t, inbox.Received, w.loaded(t, "a", "two").Outcome)
	require.Equal(t, bodyOf("two"), w.loaded(t, "a", "two").Body)
}

// A source that has moved to another cell leaves its earlier events in this cell. An event whose
// delivery only the export has can be replayed: while its row is stored and afterwards, alone and
// in a bulk run.
func TestAnExportedEventOfASourceThatMovedIsReplayed(t *testing.T) {
	t.Parallel()
	for days, stored := range map[int]int{7: 2, 14: 0} {
		w := exporting(t, export.Directory(t.TempDir()))
		w.done(t, "a", "one")
		w.done(t, "a", "two")
		w.passDays(t, days)
		require.Equal(t, stored, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
		for _, statement := range []string{
			`SELECT hooklatch.begin_move('a', 'processed_events')`,
			`INSERT INTO hooklatch.source_moves (source, move_id, to_cell, moved_at) VALUES ('a', gen_random_uuid(), 'payments', now())`,
		} {
			_, err := w.pool.Exec(t.Context(), statement)
			require.NoError(t, err)
		}
		replayed, err := w.Inbox().Replay(t.Context(), ref("a", "one"), ann, inbox.ReplayOptions{NewKeys: true})
		require.NoError(t, err)
		require.Equal(t, 2, replayed.Generation)
		require.Equal(t, inbox.Received, w.loaded(t, "a", "one").Outcome)
		require.Equal(t, bodyOf("one"), w.loaded(t, "a", "one").Body)
		if stored == 0 {
			continue
		}
		run, err := w.Runs().Through(t.Context(), runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Content: find.Content{Contains: "two"}}}, ann, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, run.Changed)
		require.Equal(t, inbox.Received, w.loaded(t, "a", "two").Outcome)
	}
}

// Retention has deleted all events, because none arrived for a long time. A bulk run erases an
// event that only the export has.
func TestARunReachesEventsThatOnlyTheExportHas(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	w.done(t, "a", "one")
	w.accept(t, "a", "two")
	effect := w.dispatch(t, "a", "two", func(e *ledger.NewEffect) { e.Request = ledger.Request{Method: "POST", Body: []byte("canary")} })
	w.settle(t, ledger.Settlement{Effect: w.claim(t, effect), Verdict: ledger.VerdictRefused, ResponseStatus: 422, ResponseExcerpt: "canary", Error: "canary"})
	w.passDays(t, 14)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	const has = `SELECT (SELECT count(*) FROM hooklatch.effects AS e WHERE e::text LIKE '%canary%' OR e.request_body = 'canary')
		+ (SELECT count(*) FROM hooklatch.attempts AS a WHERE a::text LIKE '%canary%')`
	require.Equal(t, 2, w.count(t, has), "effects outlive their events")
	run, err := w.Runs().Through(t.Context(), runs.Order{Action: erasure.ActionEraseEvent, Events: find.Events{Content: find.Content{Contains: "two"}}}, ann, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, run.Changed)
	require.Zero(t, w.count(t, has))
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// Two events share a delivery. The database keeps the delivery for one event after it has deleted
// the row of the other event. An erasure of the other event removes that event's part, and its
// copies in kept deliveries.
func TestAnErasureReachesADeliveryThatAnotherEventKeeps(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	_, err := w.Accept(t.Context(), outbox.Delivery{
		Source: "a", Provider: "hmac", ContentType: "application/json", Body: []byte(`[{"of":"done"},{"of":"parked"}]`),
		Events: []outbox.Incoming{{ID: "done", Type: "happened", Item: "/0"}, {ID: "parked", Type: "happened", Item: "/1"}},
	})
	require.NoError(t, err)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, "a", "done")), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	require.NoError(t, w.Ledger().Park(t.Context(), w.dispatch(t, "a", "parked").IdempotencyKey(), ann))
	// A later delivery, which is kept too, repeats the event.
	_, err = w.Accept(t.Context(), outbox.Delivery{
		Source: "a", Provider: "hmac", ContentType: "application/json", Body: []byte(`[{"of":"done"},{"of":"later"}]`),
		Events: []outbox.Incoming{{ID: "done", Type: "happened", Item: "/0"}, {ID: "later", Type: "happened", Item: "/1"}},
	})
	require.NoError(t, err)
	require.NoError(t, w.Ledger().Park(t.Context(), w.dispatch(t, "a", "later").IdempotencyKey(), ann))
	w.passDays(t, 14)
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.deliveries_kept`))
	came, err := w.Erasure().Event(t.Context(), ref("a", "done"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, erasure.Erased{Effects: 1, Others: 1}, came)
	require.Equal(t, `[null,{"of":"parked"}]`, string(w.loaded(t, "a", "parked").Body))
	require.Equal(t, `[null,{"of":"later"}]`, string(w.loaded(t, "a", "later").Body))
}

// While a delivery arrived, the database's clock was three days ahead. The delivery is exported with
// its event, which is far from the other events of that day.
func TestADeliveryOfAWrongClockIsExportedWithItsEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.jump(t, 3*day)
	w.done(t, "a", "ahead")
	w.jump(t, -3*day)
	for _, id := range []string{"one", "two", "three", "four"} {
		w.done(t, "a", id)
		w.passDays(t, 1)
	}
	w.passDays(t, 6)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.Equal(t, bodyOf("ahead"), w.shown(t, "a", "ahead").Event.Body)
	require.Contains(t, contents(t, dir), `{\"id\":\"ahead\"}`)
	_, err := w.Erasure().Event(t.Context(), ref("a", "ahead"), ann, erasure.Order{})
	require.NoError(t, err)
	require.NotContains(t, contents(t, dir), `{\"id\":\"ahead\"}`)
}
