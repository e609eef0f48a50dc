package commit

import "errors"

// Errors that callers branch on.
var (
	// ErrBusy is returned when the bounded queue is full, the bounded wait ended before any try, or
	// too many batches wait for locks. Nothing was stored; try again later.
	ErrBusy = errors.New("outbox is busy")
	// ErrUnavailable is returned when the database is unavailable or the outcome is unknown.
	// The same call may be repeated: deduplication makes that safe.
	ErrUnavailable = errors.New("outbox is unavailable")
	// ErrClosed is returned after Stop was called.
	ErrClosed = errors.New("outbox is closed")
	// ErrTryAgain is returned by functions that run in a transaction. A row changed between two
	// statements, and the same transaction may succeed now.
	ErrTryAgain = errors.New("changed meanwhile")
)
