package outbox

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	stateDeadlock         = "40P01"
	stateLockNotAvailable = "55P03"
	stateReadOnly         = "25006"
	stateCheckViolation   = "23514"
)

// passingStates are codes, and classes of them, that go away by themselves.
var passingStates = [...]string{
	"08",    // connection exception
	"40001", // serialization failure
	"53",    // insufficient resources: disk full, out of memory, too many connections
	"57",    // operator intervention: shutdown, crash, cancelled
	"25P03", // idle-in-transaction time-out
	"58",    // system error: I/O
	"XX000", // internal error, seen while a server recovers
	stateReadOnly,
}

func sqlState(err error) (*pgconn.PgError, bool) { return errors.AsType[*pgconn.PgError](err) }

// isLockWait tells that somebody else's lock is in the way.
func isLockWait(err error) bool {
	pg, ok := sqlState(err)
	return ok && (pg.Code == stateLockNotAvailable || pg.Code == stateDeadlock)
}

// isBadData tells that the values themselves are refused: by the server
// (classes 22 and 23), or by pgx or River before the server was asked.
func isBadData(err error) bool {
	pg, ok := sqlState(err)
	if !ok {
		return !isPassing(err)
	}
	if pg.Code == stateCheckViolation && pg.ConstraintName == "" {
		return false // "no partition of relation found": our fault, not the event's
	}
	return strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23")
}

// isPassing tells that the same transaction may succeed when it is tried again.
func isPassing(err error) bool {
	if pg, ok := sqlState(err); ok {
		for _, state := range passingStates {
			if strings.HasPrefix(pg.Code, state) {
				return true
			}
		}
		return false
	}
	_, passing := errors.AsType[*passingError](err)
	return passing || errors.Is(err, errTryAgain)
}

func isReadOnly(err error) bool {
	pg, ok := sqlState(err)
	return ok && pg.Code == stateReadOnly
}

// isAmbiguous tells that the transaction may have been committed all the same.
func isAmbiguous(err error) bool {
	passing, ok := errors.AsType[*passingError](err)
	return ok && passing.ambiguous
}
