package outbox

import (
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Errors callers branch on. Those of the packages below stand here too, so that
// who accepts and enqueues needs this package only.
var (
	// ErrBusy: the bounded queue is full or the bounded wait is over before
	// anything was tried. Nothing was stored; try again later.
	ErrBusy = commit.ErrBusy
	// ErrUnavailable: the database is away, or the outcome is unknown. The
	// same call may be repeated: dedup makes that safe.
	ErrUnavailable = commit.ErrUnavailable
	// ErrClosed: Stop was called.
	ErrClosed = commit.ErrClosed
	// ErrNotFound: there is no such event or effect.
	ErrNotFound = ledger.ErrNotFound
	// ErrUnknownDestination: no worker registered a destination of that name.
	ErrUnknownDestination = ledger.ErrUnknownDestination
)
