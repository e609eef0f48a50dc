package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrPoolNotPrepared is returned when the server replicates synchronously and the pool cannot
// detect that a COMMIT did not reach the standby.
var ErrPoolNotPrepared = errors.New("synchronous_standby_names is set on the server, but a COMMIT whose wait for the standby was cancelled would " +
	"count as replicated: pass the configuration of the pool to commit.PreparePool before pgxpool.NewWithConfig")

// ErrNotOnStandby is the cause of an ErrUnavailable when the server confirmed COMMIT, but the
// standby might not have the transaction.
var ErrNotOnStandby = errors.New("the wait for the standby was cancelled: committed on the primary, perhaps nowhere else")

// standbyCheck is the interval at which a connection of an unprepared pool checks whether the
// server replicates synchronously.
const standbyCheck = 10 * time.Second

// Keys of Hooklatch's notes on a connection, in pgconn.PgConn.CustomData.
const (
	notePrepared   = "hooklatch.prepared"    // true: its pool is prepared
	noteNoStandby  = "hooklatch.no_standby"  // time.Time of the last check, which found no standby
	noteWaitBroken = "hooklatch.wait_broken" // true: a wait for the standby was cancelled
	noteUsed       = "hooklatch.used."       // followed by a Group's name; true: statements of the Group have succeeded
)

// PreparePool prepares a pool for a server with synchronous replication. On such a server,
// pg_cancel_backend or a pooler can end the wait of a COMMIT for its standby. The server then
// confirms COMMIT with a warning. Only a prepared pool reads the warning. With any other pool, a
// server failure could lose confirmed rows unnoticed. Call PreparePool before
// pgxpool.NewWithConfig. PreparePool keeps the hooks of config.
//
// A DB refuses transactions on an unprepared pool with ErrPoolNotPrepared if
// synchronous_standby_names is set on the server. Other servers do not need a prepared pool.
func PreparePool(config *pgxpool.Config) {
	onNotice, afterConnect := config.ConnConfig.OnNotice, config.AfterConnect
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if isBrokenWait(notice) {
			conn.CustomData()[noteWaitBroken] = true
		}
		if onNotice != nil {
			onNotice(conn, notice)
		}
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[notePrepared] = true
		if afterConnect != nil {
			return afterConnect(ctx, conn)
		}
		return nil
	}
}

// isBrokenWait reports whether a notice is the warning about a cancelled wait for the standby. It
// recognises the warning by the server function that the notice names, because the text is
// translated. If a pooler omits the function, isBrokenWait compares the text.
func isBrokenWait(notice *pgconn.Notice) bool {
	if notice.Routine != "" {
		return notice.Routine == "SyncRepWaitForLSN"
	}
	return strings.Contains(notice.Message, "wait for synchronous replication")
}

// standbyWait observes whether the wait of one COMMIT for the standby is cancelled.
type standbyWait struct{ conn *pgx.Conn }

func watchStandby(conn *pgx.Conn) standbyWait {
	delete(conn.PgConn().CustomData(), noteWaitBroken)
	return standbyWait{conn: conn}
}

func (w standbyWait) cancelled() bool {
	_, broken := w.conn.PgConn().CustomData()[noteWaitBroken]
	return broken
}

// requirePrepared refuses a connection of an unprepared pool if the server replicates
// synchronously: the connection could miss the warning about a cancelled wait. A connection whose
// server had no standby is checked again after standbyCheck.
func requirePrepared(ctx context.Context, conn *pgx.Conn) error {
	notes := conn.PgConn().CustomData()
	if notes[notePrepared] == true {
		return nil
	}
	if asked, ok := notes[noteNoStandby].(time.Time); ok && time.Since(asked) < standbyCheck {
		return nil
	}
	var standbys string
	if err := conn.QueryRow(ctx, `SHOW synchronous_standby_names`).Scan(&standbys); err != nil {
		err = fmt.Errorf("read synchronous_standby_names: %w", err)
		if conn.IsClosed() || ctx.Err() != nil {
			return &transientError{op: "begin", err: err}
		}
		return err
	}
	if standbys != "" {
		return ErrPoolNotPrepared
	}
	notes[noteNoStandby] = time.Now()
	return nil
}
