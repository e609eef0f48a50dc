package commit

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// transientError is a temporary fault of the connection or the server, not of the data. The same
// transaction may succeed when it is tried again.
type transientError struct {
	op        string
	err       error
	ambiguous bool // the transaction may have been committed
}

func (e *transientError) Error() string {
	if e.ambiguous {
		return e.op + ": outcome unknown: " + e.err.Error()
	}
	return e.op + ": " + e.err.Error()
}

func (e *transientError) Unwrap() error { return e.err }

// commitError classifies a failed COMMIT. Only the server's own refusal shows that COMMIT did not
// happen. Any other error leaves the outcome unknown: if the server, or a pooler in between, closed
// the connection, COMMIT may have happened first. pgconn.SafeToRetry is not used: since pgx 5.9 it
// treats a lost response as safe to retry.
func commitError(err error) error {
	pg, answered := sqlstate.Of(err)
	switch {
	case answered && mayHaveCommitted(pg):
		return &transientError{op: "commit", err: err, ambiguous: true}
	case answered && sqlstate.Lock(pg.Code):
		// COMMIT waits for only one lock: the NOTIFY lock, which every transaction that notifies
		// takes. No member is to blame.
		return &transientError{op: "commit", err: err}
	case answered || errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("commit: %w", err)
	}
	return &transientError{op: "commit", err: err, ambiguous: true}
}

// mayHaveCommitted reports whether the outcome stays unknown when the server answers COMMIT with
// this error. Such an error has class 08, 57 or 58, or ends the session.
func mayHaveCommitted(pg *pgconn.PgError) bool {
	severity := cmp.Or(pg.SeverityUnlocalized, pg.Severity)
	return severity == "FATAL" || severity == "PANIC" || sqlstate.InClass(pg.Code, "08", "57", "58")
}

// isLockWait reports whether a statement failed because of another transaction's lock.
func isLockWait(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return false
	}
	pg, ok := sqlstate.Of(err)
	return ok && sqlstate.Lock(pg.Code)
}

// mayBeOfOne reports whether one member of a batch may be the cause, so that its neighbours must be
// tried without it. The result is true for any error that is not temporary, except
// ErrPoolNotPrepared.
func mayBeOfOne(err error) bool {
	if isTransient(err) || errors.Is(err, ErrPoolNotPrepared) {
		return false
	}
	_, answered := sqlstate.Of(err)
	return answered || isBadData(err)
}

// isStatementOfMoment reports whether a statement met a temporary fault, such as an internal error
// or a timeout, and its session continues. One member may be the cause.
func isStatementOfMoment(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return false
	}
	pg, answered := sqlstate.Of(err)
	return answered && sqlstate.Transient(pg.Code) && !sqlstate.Demoted(pg)
}

// isBadData reports whether the values themselves were refused: by the server (classes 22 and 23),
// or by pgx or River before the values were sent.
func isBadData(err error) bool {
	if isTransient(err) || errors.Is(err, ErrPoolNotPrepared) {
		return false
	}
	pg, ok := sqlstate.Of(err)
	if !ok {
		return true
	}
	if pg.Code == sqlstate.CheckViolation && pg.ConstraintName == "" {
		return false // "no partition of relation found": Hooklatch's fault, not the event's
	}
	return sqlstate.InClass(pg.Code, "22", "23")
}

// isTransient reports whether the same transaction may succeed when it is tried again.
func isTransient(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return true
	}
	if pg, ok := sqlstate.Of(err); ok {
		return sqlstate.Transient(pg.Code) || sqlstate.Demoted(pg)
	}
	return errors.Is(err, ErrTryAgain)
}

// isAmbiguous reports whether the transaction may have been committed despite the error.
func isAmbiguous(err error) bool {
	transient, ok := errors.AsType[*transientError](err)
	return ok && transient.ambiguous
}
