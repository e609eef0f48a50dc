package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// readsAtOnce and writesAtOnce limit the calls of a storage that have not returned. They include
	// the calls whose callers have given up. A write keeps its file in memory until it returns.
	readsAtOnce  = 2 * daysAtOnce
	writesAtOnce = 4
)

// ErrNoAnswer is returned when the context of a call ends before the storage returns, or before the
// call may start.
var ErrNoAnswer = errors.New("the storage did not answer in time")

// bounded is a Storage whose calls return when their context ends. The calls of the wrapped Storage
// may ignore their context: a system call to a network file system that hangs cannot be
// interrupted.
type bounded struct {
	Storage

	reads, writes chan struct{} // calls that have not returned
	logger        *slog.Logger
}

func newBounded(s Storage, logger *slog.Logger) *bounded {
	return &bounded{Storage: s, reads: make(chan struct{}, readsAtOnce), writes: make(chan struct{}, writesAtOnce), logger: logger}
}

// Put implements Storage. A file that is written after the caller has given up is deleted. The
// caller's sweep may have forgotten the file's name, and no erasure would find the file.
func (b *bounded) Put(ctx context.Context, name string, content []byte) error {
	_, err := call(ctx, b.writes, func() (struct{}, error) {
		return struct{}{}, b.Storage.Put(ctx, name, content)
	}, func() {
		if err := b.Storage.Delete(context.WithoutCancel(ctx), name); err != nil {
			b.logger.LogAttrs(ctx, slog.LevelWarn, "a file of the export that was written too late could not be deleted: delete it yourself",
				slog.String(logkey.Path, name), slog.Any(logkey.Err, err))
		}
	})
	return err
}

// Get implements Storage.
func (b *bounded) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	return call(ctx, b.reads, func() ([]byte, error) { return b.Storage.Get(ctx, name, offset, length) }, nil)
}

// Delete implements Storage.
func (b *bounded) Delete(ctx context.Context, name string) error {
	_, err := call(ctx, b.writes, func() (struct{}, error) { return struct{}{}, b.Storage.Delete(ctx, name) }, nil)
	return err
}

// call calls f in a separate goroutine, when running has a free place. If ctx has already ended,
// call returns the cause and does not call f. If ctx ends while call waits for a place or for f,
// call returns ErrNoAnswer and the cause. In the second case f runs on, and the goroutine calls
// late after f has returned, unless late is nil. The place stays taken until the goroutine ends. A
// panic of f becomes a panic of the caller.
func call[T any](ctx context.Context, running chan struct{}, f func() (T, error), late func()) (T, error) {
	type returned struct {
		result   T
		err      error
		panicked any
	}
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx) // the storage was not asked
	}
	gaveUp := func() error { return fmt.Errorf("%w: %w", ErrNoAnswer, context.Cause(ctx)) }
	select {
	case running <- struct{}{}:
	case <-ctx.Done():
		return none, gaveUp()
	}
	results := make(chan returned, 1)
	var over atomic.Bool // the goroutine that sets it first decides whether f is abandoned
	go func() {
		var made returned
		defer func() {
			made.panicked = recover()
			<-running
			results <- made
		}()
		made.result, made.err = f()
		if over.Swap(true) && late != nil {
			late()
		}
	}()
	var made returned
	select {
	case made = <-results:
	case <-ctx.Done():
		if !over.Swap(true) {
			return none, gaveUp()
		}
		made = <-results // f returned just now
	}
	if made.panicked != nil {
		panic(made.panicked)
	}
	return made.result, made.err
}
