package retention_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// counting is a storage that counts the files that are read.
type counting struct {
	export.Storage

	mu   sync.Mutex
	read []string // names, without those of manifests
}

func (c *counting) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	c.mu.Lock()
	if !strings.Contains(name, "/manifest-") {
		c.read = append(c.read, name)
	}
	c.mu.Unlock()
	return c.Storage.Get(ctx, name, offset, length)
}

// parts returns the number of parts that were read since the last call.
func (c *counting) parts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, name := range c.read {
		if strings.HasSuffix(name, ".jsonl.gz") {
			n++
		}
	}
	c.read = nil
	return n
}

// bulk stores n events, each in its own delivery. Their ids begin with a prefix.
func (w *world) bulk(t *testing.T, prefix string, n int) {
	t.Helper()
	w.run(t, `
		WITH new AS (
			SELECT $1::text || n AS id, gen_random_uuid() AS delivery FROM generate_series(1, $2::int) AS n
		), stored AS (
			INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome, processed_at)
			SELECT 'bulk', id, nextval('hooklatch.accept_seq'), delivery, 'hmac', 'happened', delivery, '', '', 'skipped', now() FROM new
		)
		INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
		SELECT delivery, 'bulk', '{}', 'application/json', convert_to(format('{"id":"%s"}', id), 'UTF8') FROM new`, prefix, n)
}

// A day takes longer to read back than a call may last. Each call reads one more part, while the day
// is exported, and also before it is dropped. An erasure reads only the part that has the event.
func TestADayIsReadBackInSeveralCalls(t *testing.T) {
	t.Parallel()
	storage := &counting{Storage: export.Directory(t.TempDir())}
	w := exporting(t, storage)
	w.bulk(t, "bulk-", 250)
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 2)
	over := func() bool { return true }
	for _, call := range []func() error{
		func() error { return w.Export().Export(t.Context(), today, over) }, // writes, and reads back
		func() error { return w.Export().Export(t.Context(), today, over) }, // compares with the table
		func() error { return w.Export().Verify(t.Context(), today, over) },
	} {
		read := 0
		for calls := 0; ; calls++ {
			require.Less(t, calls, 20)
			err := call()
			now := storage.parts()
			read += now
			require.LessOrEqual(t, now, 1)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, export.ErrUnfinished)
		}
		require.Equal(t, 3, read)
	}
	_, err := w.Erasure().Event(t.Context(), ref("bulk", "bulk-7"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, 2, storage.parts(), "the part with the event, and the part that replaces it")
	w.keep(t, exportSettings)
	w.passDays(t, 5)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
}

// late is a context whose deadline the test decides.
type late struct {
	context.Context

	passed chan struct{}
}

func (l late) Done() <-chan struct{} { return l.passed }

func (l late) Err() error {
	select {
	case <-l.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// hanging is a storage that does not answer a read before the deadline.
type hanging struct {
	export.Storage

	until late
}

func (h *hanging) Get(context.Context, string, int64, int64) ([]byte, error) {
	close(h.until.passed)
	return nil, h.until.Err()
}

// A run that a deadline ends notes the failure, so that an alert fires: the following runs may end
// in the same way. When the day is exported, the note is gone.
func TestADeadlineOfAnExportIsAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	w.done(t, "a", "one")
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 5)
	w.pass(t, day)
	failed := func() (days, all int) {
		return w.count(t, `SELECT count(failed_since) FROM hooklatch.exported_days`), w.count(t, `SELECT count(export_failed_since) FROM hooklatch.retention_progress`)
	}
	for range 2 { // a new export, and then an export that is already complete
		ctx := late{context.WithoutCancel(t.Context()), make(chan struct{})}
		w.restart(t, &hanging{Storage: export.Directory(dir), until: ctx})
		_, err := w.Retention().Run(ctx, retention.Order{Settings: exportSettings})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		days, all := failed()
		require.Equal(t, 1, days)
		require.Equal(t, 1, all)
		w.restart(t, export.Directory(dir))
		require.NoError(t, w.Export().Export(t.Context(), today, nil))
		days, all = failed()
		require.Zero(t, days)
		require.Zero(t, all)
	}

	// A day that an earlier run detached from the table is only read back.
	ctx := late{context.WithoutCancel(t.Context()), make(chan struct{})}
	w.restart(t, &hanging{Storage: export.Directory(dir), until: ctx})
	require.ErrorIs(t, w.Export().Verify(ctx, today, nil), context.DeadlineExceeded)
	days, all := failed()
	require.Equal(t, 1, days)
	require.Equal(t, 1, all)
	w.restart(t, export.Directory(dir))
	require.NoError(t, w.Export().Verify(t.Context(), today, nil))
	days, all = failed()
	require.Zero(t, days)
	require.Zero(t, all)
}

// deleting is a storage that reports each deletion.
type deleting struct {
	export.Storage

	deleted chan struct{}
}

func (d *deleting) Delete(ctx context.Context, name string) error {
	defer func() { d.deleted <- struct{}{} }()
	return d.Storage.Delete(ctx, name)
}

// A storage that hangs, and ignores its context, ends a run with the run's deadline, and the failure is
// noted. A file that is complete only after another process has exported the day is deleted.
func TestAHungStorageEndsARunWithItsDeadline(t *testing.T) {
	t.Parallel()
	for _, at := range [][2]string{{"Put", ".jsonl.gz"}, {"Put", "manifest-"}, {"read back", ".index"}} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, today := dayOfTwo(t, dir)
			ctx := late{context.WithoutCancel(t.Context()), make(chan struct{})}
			storage := hold(dir, at[0], at[1])
			ended := make(chan error, 1)
			deleted := make(chan struct{}, 10)
			hung := w.process(t, &deleting{storage, deleted})
			release := storage.begin(t, func() error {
				ended <- hung.Export().Export(ctx, today, nil)
				return nil
			})
			close(ctx.passed)
			err := <-ended
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, export.ErrNoAnswer)
			require.Equal(t, 1, w.count(t, `SELECT count(failed_since) FROM hooklatch.exported_days`))

			require.NoError(t, w.process(t, export.Directory(dir)).Export().Export(t.Context(), today, nil))
			require.NoError(t, release())
			if at[0] == "Put" {
				<-deleted
			}
			w.whole(t, dir, today)
		})
	}
}

// An erasure that takes longer than a run continues where it ended: between two days, and between
// two parts of a day.
func TestAnErasureContinuesWhereItEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storage := &counting{Storage: export.Directory(dir)}
	w := exporting(t, storage)
	over := func() bool { return true }
	for _, prefix := range []string{"first-", "second-"} {
		w.bulk(t, prefix, 150) // two parts
		today := w.now(t).UTC().Truncate(day)
		w.passDays(t, 2)
		require.Eventually(t, func() bool { return w.Export().Export(t.Context(), today, over) == nil }, 2*time.Minute, time.Millisecond)
	}
	w.run(t, `INSERT INTO hooklatch.export_erasures (source, event_id, note, redacting) SELECT source, event_id, 'erased', false FROM hooklatch.processed_events`)
	storage.parts()
	ended := 0
	for ; ; ended++ {
		require.Less(t, ended, 20)
		days := 0
		err := w.Export().EraseNoted(t.Context(), func(context.Context) error {
			if days++; days > 1 {
				return errFault
			}
			return nil
		})
		require.Equal(t, 2, storage.parts(), "one part, and the part that replaces it")
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errFault)
	}
	require.Equal(t, 3, ended)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	require.NotContains(t, contents(t, dir), `{\"id\":`)
	w.onlyNeeded(t, dir, 4)
}

// oncePerCall returns a function still that ends an erasure when it is called for the second time.
func oncePerCall() func(context.Context) error {
	asked := 0
	return func(context.Context) error {
		if asked++; asked > 1 {
			return errFault
		}
		return nil
	}
}

// An erasure also ends and continues between two parts of a day that has none of the events.
func TestAnErasureEndsInADayWithoutItsEvents(t *testing.T) {
	t.Parallel()
	storage := &counting{Storage: export.Directory(t.TempDir())}
	w := exporting(t, storage)
	w.bulk(t, "bulk-", 150)
	today := w.now(t).UTC().Truncate(day)
	w.passDays(t, 2)
	over := func() bool { return true }
	require.Eventually(t, func() bool { return w.Export().Export(t.Context(), today, over) == nil }, 2*time.Minute, time.Millisecond)
	w.run(t, `INSERT INTO hooklatch.export_erasures (source, event_id, note, redacting) VALUES ('bulk', 'other', 'erased', false)`)
	storage.read = nil
	require.ErrorIs(t, w.Export().EraseNoted(t.Context(), oncePerCall()), errFault)
	first := storage.read
	require.Len(t, first, 1)
	storage.read = nil
	require.NoError(t, w.Export().EraseNoted(t.Context(), oncePerCall()))
	require.Len(t, storage.read, 1)
	require.NotEqual(t, first, storage.read)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}

// An erasure ends between two parts of a day. Before it continues, the day leaves the export, and
// the next day is too old to contain the events.
func TestAnErasureContinuesAfterADayThatIsGone(t *testing.T) {
	t.Parallel()
	w := exporting(t, export.Directory(t.TempDir()))
	over := func() bool { return true }
	for _, prefix := range []string{"old-", "young-"} {
		w.bulk(t, prefix, 150)
		today := w.now(t).UTC().Truncate(day)
		w.pass(t, 10*day)
		require.Eventually(t, func() bool { return w.Export().Export(t.Context(), today, over) == nil }, 2*time.Minute, time.Millisecond)
	}
	w.run(t, `INSERT INTO hooklatch.export_erasures (source, event_id, note, redacting)
		SELECT source, event_id, 'erased', true FROM hooklatch.processed_events WHERE event_id LIKE 'young-%'`)
	require.ErrorIs(t, w.Export().EraseNoted(t.Context(), oncePerCall()), errFault)
	w.run(t, `DELETE FROM hooklatch.exported_days WHERE day = (SELECT max(day) FROM hooklatch.exported_days)`)
	asked := 0
	require.NoError(t, w.Export().EraseNoted(t.Context(), func(context.Context) error {
		if asked++; asked > 20 {
			return errFault
		}
		return nil
	}))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}

// A redaction is noted every minute. Retention reads no file of the export for an event that is
// younger than all exported days.
func TestARedactionOfAYoungEventReadsNoFile(t *testing.T) {
	t.Parallel()
	storage := &counting{Storage: export.Directory(t.TempDir())}
	w := exporting(t, storage)
	for range 3 {
		w.bulk(t, w.now(t).Format(time.DateOnly)+"-", 1)
		w.passDays(t, 1)
	}
	w.passDays(t, 14)
	require.Equal(t, 3, w.count(t, `SELECT count(*) FROM hooklatch.exported_days WHERE events = 1`))
	w.batch(t, "a", map[string]string{"young": canary}, "young")
	w.finish(t, "a", "young")
	done, err := w.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "a", Pointers: []string{"/to"}}})
	require.NoError(t, err)
	require.Equal(t, 1, done.Events)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	storage.parts()
	w.keep(t, exportSettings)
	require.Empty(t, storage.read)
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}
