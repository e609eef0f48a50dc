package outbox

import (
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Callers branch on these errors. The errors of subpackages are repeated here, so that a caller
// that only accepts and enqueues needs only this package.
var (
	// ErrBusy is returned when the bounded queue is full, the bounded wait ended before any try, or
	// too many batches wait for locks. Nothing was stored; try again later.
	ErrBusy = commit.ErrBusy
	// ErrUnavailable is returned when the database is unavailable or the outcome is unknown.
	// The same call may be repeated: deduplication makes that safe.
	ErrUnavailable = commit.ErrUnavailable
	// ErrClosed is returned after Stop was called.
	ErrClosed = commit.ErrClosed
	// ErrNotFound is returned when the event or effect does not exist.
	ErrNotFound = ledger.ErrNotFound
	// ErrUnknownDestination is returned when no worker registered a destination with that name.
	ErrUnknownDestination = ledger.ErrUnknownDestination
)
