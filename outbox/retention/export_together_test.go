package retention_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
)

// held is a storage that waits before the first operation of one kind until the test releases it.
type held struct {
	export.Storage

	operation, file string // such as "Put" and ".index"

	mu       sync.Mutex
	put      map[string]bool
	waited   bool
	reached  chan struct{}
	released chan struct{}
}

func hold(dir, operation, file string) *held {
	return &held{
		Storage: export.Directory(dir), operation: operation, file: file,
		put: map[string]bool{}, reached: make(chan struct{}), released: make(chan struct{}),
	}
}

func (h *held) step(operation, name string) {
	h.mu.Lock()
	first := !h.waited && operation == h.operation && strings.Contains(name, h.file)
	h.waited = h.waited || first
	h.mu.Unlock()
	if first {
		close(h.reached)
		<-h.released
	}
}

func (h *held) Put(ctx context.Context, name string, content []byte) error {
	h.mu.Lock()
	h.put[name] = true
	h.mu.Unlock()
	h.step("Put", name)
	return h.Storage.Put(ctx, name, content)
}

func (h *held) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	h.mu.Lock()
	own := h.put[name]
	h.mu.Unlock()
	if own {
		h.step("read back", name)
	}
	return h.Storage.Get(ctx, name, offset, length)
}

func (h *held) Delete(ctx context.Context, name string) error {
	h.step("Delete", name)
	return h.Storage.Delete(ctx, name)
}

// begin calls do in a goroutine, and returns when the storage is reached. The returned function
// releases the storage, and returns the error of do.
func (h *held) begin(t *testing.T, do func() error) (end func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	release := sync.OnceFunc(func() { close(h.released) })
	t.Cleanup(release)
	select {
	case <-h.reached:
	case err := <-done:
		t.Fatalf("%s of %q was not reached: %v", h.operation, h.file, err)
	}
	return func() error {
		release()
		return <-done
	}
}

// dayOfTwo returns a world and its first day. The day has one delivery with the events jenny and
// other. The day has ended and is still in its table.
func dayOfTwo(t *testing.T, dir string) (w *world, today time.Time) {
	t.Helper()
	w = exporting(t, export.Directory(dir))
	w.batch(t, "a", map[string]string{"jenny": canary, "other": "someone"}, "jenny", "other")
	w.refuse(t, "a", "jenny")
	w.finish(t, "a", "other")
	today = w.now(t).UTC().Truncate(day)
	w.passDays(t, 2)
	return w, today
}

// noteErasure erases the event jenny in the database, by a process without an export. The erasure
// in the export is only noted.
func (w *world) noteErasure(t *testing.T) {
	t.Helper()
	_, err := w.process(t, nil).Erasure().Event(t.Context(), ref("a", "jenny"), ann, erasure.Order{})
	require.NoError(t, err)
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
}

// whole requires that the day's files are readable, that the directory has no other files, and that
// no failure is noted.
func (w *world) whole(t *testing.T, dir string, today time.Time) {
	t.Helper()
	w.onlyNeeded(t, dir, 1)
	fresh := w.process(t, export.Directory(dir))
	require.NoError(t, fresh.Export().Verify(t.Context(), today, nil))
	days, err := fresh.Export().Days(t.Context())
	require.NoError(t, err)
	require.Empty(t, days[0].Error)
}

// Two processes change one day of the export at the same time. One of them fails, wherever the other
// overtakes it, and leaves no file that the export does not need.
func TestTheSlowerOfTwoProcessesLeavesNoFile(t *testing.T) {
	t.Parallel()
	for _, at := range [][2]string{{"Put", ".jsonl.gz"}, {"Put", ".index"}, {"Put", "manifest-"}, {"read back", "manifest-"}, {"read back", ".index"}} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, today := dayOfTwo(t, dir)
			for _, change := range []func(*outbox.Outbox) error{
				func(box *outbox.Outbox) error { return box.Export().Export(t.Context(), today, nil) },
				func(box *outbox.Outbox) error { return box.Erasure().Exported(t.Context(), nil) },
			} {
				slow := hold(dir, at[0], at[1])
				box := w.process(t, slow)
				end := slow.begin(t, func() error { return change(box) })
				require.NoError(t, change(w.Outbox))
				require.ErrorContains(t, end(), "another process works on this day of the export")
				w.whole(t, dir, today)
				if strings.Contains(contents(t, dir), canary) { // after the export
					w.noteErasure(t)
				}
			}
			require.NotContains(t, contents(t, dir), canary)
			require.Contains(t, contents(t, dir), "someone")
		})
	}
}

// A process deletes files that no manifest lists, while another process writes a manifest that lists
// some of them.
func TestNoProcessDeletesAFileOfAValidManifest(t *testing.T) {
	t.Parallel()
	for _, at := range [][2]string{{"Put", "manifest-"}, {"read back", ".jsonl.gz"}} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, today := dayOfTwo(t, dir)
			require.NoError(t, w.Export().Export(t.Context(), today, nil))
			w.noteErasure(t)
			writing, deleting := hold(dir, at[0], at[1]), hold(dir, "Delete", "")
			writer, deleter := w.process(t, writing), w.process(t, deleting)
			written := writing.begin(t, func() error { return writer.Erasure().Exported(t.Context(), nil) })
			deleted := deleting.begin(t, func() error { return deleter.Export().Export(t.Context(), today, nil) })
			lost := written()
			require.NoError(t, deleted())
			w.whole(t, dir, today)
			require.ErrorContains(t, lost, "another process works on this day of the export")

			require.NoError(t, w.Erasure().Exported(t.Context(), nil))
			w.whole(t, dir, today)
			require.NotContains(t, contents(t, dir), canary)
			require.Contains(t, contents(t, dir), "someone")
		})
	}
}

// A process has read an event, and the event is erased before the process writes its part. Another
// process has meanwhile exported the day.
func TestAnExportThatWasOvertakenWritesNoErasedEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, today := dayOfTwo(t, dir)
	slow := hold(dir, "over", "")
	box := w.process(t, slow)
	end := slow.begin(t, func() error {
		return box.Export().Export(t.Context(), today, func() bool { slow.step("over", ""); return false })
	})
	w.noteErasure(t)
	require.NoError(t, w.Export().Export(t.Context(), today, nil))
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))
	require.ErrorContains(t, end(), "another process works on this day of the export")
	w.whole(t, dir, today)
	require.NotContains(t, contents(t, dir), canary)
}

// While a process writes a part, another process exports the day, and makes the day unfinished
// again because a file is missing. The part does not enter the next export.
func TestAPartOfAnEarlierExportDoesNotEnterALaterOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, today := dayOfTwo(t, dir)
	slow := hold(dir, "Put", ".jsonl.gz")
	box := w.process(t, slow)
	end := slow.begin(t, func() error { return box.Export().Export(t.Context(), today, nil) })
	require.NoError(t, w.Export().Export(t.Context(), today, nil))
	w.noteErasure(t)
	require.NoError(t, w.Erasure().Exported(t.Context(), nil))
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.export_erasures`))
	for _, name := range filesIn(t, dir) {
		if strings.HasSuffix(name, ".index") {
			require.NoError(t, os.Remove(name))
		}
	}
	require.ErrorIs(t, w.Export().Export(t.Context(), today, nil), export.ErrNoFile)
	require.ErrorContains(t, end(), "another process works on this day of the export")
	require.NoError(t, w.Export().Export(t.Context(), today, nil))
	w.whole(t, dir, today)
	require.NotContains(t, contents(t, dir), canary)
}
