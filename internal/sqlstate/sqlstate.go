// Package sqlstate names the codes of Postgres' errors that we act on:
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
package sqlstate

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The codes that are asked for one by one.
const (
	CheckViolation         = "23514"
	ReadOnly               = "25006"
	Deadlock               = "40P01"
	InsufficientPrivilege  = "42501"
	UndefinedTable         = "42P01"
	NotInPrerequisiteState = "55000"
	LockNotAvailable       = "55P03"
	QueryCanceled          = "57014"
)

// Of is the error of the server in err, if it answered.
func Of(err error) (*pgconn.PgError, bool) { return errors.AsType[*pgconn.PgError](err) }

// Is tells whether the server answered with this code.
func Is(err error, code string) bool {
	pg, answered := Of(err)
	return answered && pg.Code == code
}

// InClass tells whether a code belongs to one of the classes, or is one of the
// codes, that are given by how they begin.
func InClass(code string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(code, b) })
}

// Transient tells whether a code goes away by itself. A wrong password (28), a
// database that is not there (3D) and a missing right (42501) do not.
func Transient(code string) bool {
	return InClass(code,
		"08",     // connection exception
		"40001",  // serialization failure
		"53",     // insufficient resources: disk full, out of memory, too many connections
		"57",     // operator intervention: shutdown, crash, cancelled, starting up
		"25P03",  // idle-in-transaction time-out
		"58",     // system error: I/O
		"XX000",  // internal error, seen while a server recovers
		ReadOnly, // in the middle of a failover
	)
}

// Lock tells whether a code says that the lock of another transaction was in the
// way.
func Lock(code string) bool { return code == LockNotAvailable || code == Deadlock }

// Away tells whether the database that err came from may be fine a moment later:
// it says so itself, or it cannot be reached.
func Away(err error) bool {
	if pg, answered := Of(err); answered {
		return Transient(pg.Code) || Lock(pg.Code)
	}
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return true
	}
	if _, lost := errors.AsType[net.Error](err); lost {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
