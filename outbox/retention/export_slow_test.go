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

// bulk stores n events, each in its own delivery.
func (w *world) bulk(t *testing.T, n int) {
	t.Helper()
	w.run(t, `
		WITH new AS (
			SELECT 'bulk-' || n AS id, gen_random_uuid() AS delivery FROM generate_series(1, $1::int) AS n
		), stored AS (
			INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome, processed_at)
			SELECT 'bulk', id, nextval('hooklatch.accept_seq'), delivery, 'hmac', 'happened', delivery, '', '', 'skipped', now() FROM new
		)
		INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
		SELECT delivery, 'bulk', '{}', 'application/json', convert_to(format('{"id":"%s"}', id), 'UTF8') FROM new`, n)
}

// A day takes longer to read back than a call may last. Each call reads one more part, while the day
// is exported, and also before it is dropped. An erasure reads only the part that has the event.
func TestADayIsReadBackInSeveralCalls(t *testing.T) {
	t.Parallel()
	storage := &counting{Storage: export.Directory(t.TempDir())}
	w := exporting(t, storage)
	w.bulk(t, 250)
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
	for range 2 { // an export, and one that is already complete
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
}
