package commit

import "errors"

// Errors callers branch on.
var (
	// ErrBusy: the bounded queue is full or the bounded wait is over before
	// anything was tried. Nothing was stored; try again later.
	ErrBusy = errors.New("outbox is busy")
	// ErrUnavailable: the database is away, or the outcome is unknown. The
	// same call may be repeated: dedup makes that safe.
	ErrUnavailable = errors.New("outbox is unavailable")
	// ErrClosed: Stop was called.
	ErrClosed = errors.New("outbox is closed")
	// ErrTryAgain is for what runs inside a transaction: a row changed between two
	// statements, and the same transaction may succeed now.
	ErrTryAgain = errors.New("changed meanwhile")
)
