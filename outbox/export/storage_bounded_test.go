package export

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// hung is a storage whose calls ignore their context, and return only after release is closed.
type hung struct {
	Storage

	release chan struct{}
	calls   chan string // file name of each call, in the order of the calls
}

func newHung(of Storage) *hung { return &hung{of, make(chan struct{}), make(chan string, 100)} }

func (h *hung) Put(ctx context.Context, name string, content []byte) error {
	h.calls <- name
	<-h.release
	return h.Storage.Put(ctx, name, content)
}

func (h *hung) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	h.calls <- name
	<-h.release
	return h.Storage.Get(ctx, name, offset, length)
}

func (h *hung) Delete(ctx context.Context, name string) error {
	h.calls <- name
	<-h.release
	return h.Storage.Delete(ctx, name)
}

var errOver = errors.New("the time is over")

// A call of a storage that hangs returns when its context ends. Afterwards the storage works again.
func TestACallOfAHungStorageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHung(Directory(t.TempDir()))
		b := newBounded(s, slog.New(slog.DiscardHandler))
		for name, call := range map[string]func(ctx context.Context) error{
			"put":    func(ctx context.Context) error { return b.Put(ctx, "put", []byte("a")) },
			"get":    func(ctx context.Context) error { _, err := b.Get(ctx, "get", 0, -1); return err },
			"delete": func(ctx context.Context) error { return b.Delete(ctx, "delete") },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error)
			go func() { ended <- call(ctx) }()
			require.Equal(t, name, <-s.calls)
			cancel(errOver)
			err := <-ended
			require.ErrorIs(t, err, ErrNoAnswer)
			require.ErrorIs(t, err, errOver)
		}
		close(s.release)
		synctest.Wait()
		require.NoError(t, b.Put(t.Context(), "new", []byte("a")))
		content, err := b.Get(t.Context(), "new", 0, -1)
		require.NoError(t, err)
		require.Equal(t, "a", string(content))
		require.NoError(t, b.Delete(t.Context(), "new"))
		require.Empty(t, b.reads)
		require.Empty(t, b.writes)
	})
}

// A file that is complete only after its writer has given up is deleted.
func TestAFileThatIsWrittenTooLateIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHung(Directory(t.TempDir()))
		b := newBounded(s, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Put(ctx, "late", []byte("a")) }()
		<-s.calls
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		close(s.release)
		synctest.Wait()
		require.Equal(t, "late", <-s.calls, "the file is deleted")
		_, err := b.Get(t.Context(), "late", 0, -1)
		require.ErrorIs(t, err, ErrNoFile)
	})
}

// While a storage hangs, the number of its calls has a limit: each holds a thread, and a write holds
// its file in memory.
func TestCallsOfAHungStorageAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHung(Directory(t.TempDir()))
		b := newBounded(s, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		for range 40 {
			go func() { ended <- b.Put(ctx, "put", nil) }()
			go func() { _, err := b.Get(ctx, "get", 0, -1); ended <- err }()
		}
		synctest.Wait()
		cancel()
		for range 80 {
			require.ErrorIs(t, <-ended, ErrNoAnswer)
		}
		require.Len(t, s.calls, writesAtOnce+readsAtOnce)
		close(s.release)
		synctest.Wait() // nothing writes to the directory any more
	})
}

// A panic of the storage reaches the caller, who may recover from it.
func TestAPanicOfTheStorageReachesTheCaller(t *testing.T) {
	t.Parallel()
	b := newBounded(nil, slog.New(slog.DiscardHandler)) // every call panics
	require.Panics(t, func() { _ = b.Put(t.Context(), "put", nil) })
	require.Empty(t, b.writes)
}
