// Package sqlstate defines the Postgres error codes to which Hooklatch reacts:
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
package sqlstate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes that are checked individually.
const (
	featureNotSupported    = "0A000"
	CheckViolation         = "23514"
	ReadOnly               = "25006"
	Deadlock               = "40P01"
	InsufficientPrivilege  = "42501"
	UndefinedTable         = "42P01"
	NotInPrerequisiteState = "55000"
	LockNotAvailable       = "55P03"
	QueryCanceled          = "57014"
)

// Of returns the server's error that err wraps, if any.
func Of(err error) (*pgconn.PgError, bool) { return errors.AsType[*pgconn.PgError](err) }

// Answered reports whether the server refused a statement and the session continues. The next
// statement may then succeed. Answered returns false for a standby's refusal to write: see Demoted.
func Answered(err error) bool {
	pg, answered := Of(err)
	return answered && !Demoted(err) && cmp.Or(pg.SeverityUnlocalized, pg.Severity) == "ERROR"
}

// Is reports whether err is a server error with this code.
func Is(err error, code string) bool {
	pg, answered := Of(err)
	return answered && pg.Code == code
}

// InClass reports whether a code begins with one of the beginnings, which are classes or
// complete codes.
func InClass(code string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(code, b) })
}

// Transient reports whether an error with this code can disappear by itself. A wrong password
// (28), a missing database (3D) and a missing privilege (42501) cannot.
func Transient(code string) bool {
	return InClass(code,
		"08",     // connection exception
		"40001",  // serialization failure
		"53",     // insufficient resources: disk full, out of memory, too many connections
		"57",     // operator intervention: shutdown, crash, cancelled, starting up
		"25P03",  // idle-in-transaction timeout
		"58",     // system error: I/O
		"XX000",  // internal error, seen while a server recovers
		ReadOnly, // during a failover
	)
}

// Demoted reports whether err is a standby's refusal to write: the server was demoted, or a
// connection leads to the wrong server. A statement that writes fails with ReadOnly. A
// transaction that begins with READ WRITE fails with 0A000, the code for every unsupported
// feature, so Demoted checks which server function reported the error. If a pooler omits the
// function, Demoted checks the text.
func Demoted(err error) bool {
	pg, answered := Of(err)
	switch {
	case !answered:
		return false
	case pg.Code == ReadOnly:
		return true
	case pg.Routine != "":
		return pg.Code == featureNotSupported && pg.Routine == "call_bool_check_hook"
	default:
		return pg.Code == featureNotSupported && strings.Contains(pg.Message, "read-write mode during recovery")
	}
}

// Lock reports whether a code means that a statement failed because of another transaction's lock.
func Lock(code string) bool { return code == LockNotAvailable || code == Deadlock }

// Away reports whether err may disappear by itself. Such an error has a transient code, is caused
// by a lock, or is a standby's refusal to write. It may also mean that the server cannot be reached
// or does not respond in time.
func Away(err error) bool {
	if pg, answered := Of(err); answered {
		return Transient(pg.Code) || Lock(pg.Code) || Demoted(err)
	}
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return true
	}
	if _, lost := errors.AsType[net.Error](err); lost {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
