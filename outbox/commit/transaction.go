package commit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/pipeline"
)

const (
	// lockTimeout is below deadlock_timeout (1 s by default). A statement that waits for another
	// transaction's lock therefore fails before the server looks for deadlocks.
	lockTimeout = 250 * time.Millisecond
	// statementTimeout limits one statement, and the pause between two statements.
	statementTimeout = 5 * time.Second
	// firstTimeout is the minimum time for the statements of a Group's first transaction on a
	// connection, which the server plans. If the members' timeout ended such a transaction and with
	// it the connection, a busy server would only ever plan statements for new connections.
	firstTimeout = statementTimeout

	rollbackTimeout = time.Second
)

// txSettings are the settings with which a Hooklatch transaction begins. A zero limit means the
// server's limit.
type txSettings struct {
	lockWait  time.Duration
	statement time.Duration
	idle      time.Duration
	// ours is true if no application statement runs in the transaction.
	ours bool
	// undo is true if the transaction ends with ROLLBACK.
	undo bool
	// confirm is true if COMMIT waits for the standby even if the transaction writes nothing. The
	// transaction may read rows that an earlier try committed and that are not on the standby yet.
	confirm bool
	// used is the key, in pgconn.PgConn.CustomData, of the note that statements of this Group have
	// succeeded on the connection. Empty outside Groups.
	used string
}

// shared returns the settings of a transaction of Group or Do. Other callers wait for the
// transaction's locks and connection, so each statement and each pause is limited.
func shared(lockWait time.Duration) txSettings {
	return txSettings{lockWait: lockWait, statement: statementTimeout, idle: statementTimeout, ours: true}
}

// TransactionOptions returns options for a caller's own transaction, with the settings that the
// guarantees rely on, whatever the defaults of server and role. The server ends the transaction if
// the client is idle in it for longer than idle. If idle is zero, the server's own limit applies.
func TransactionOptions(idle time.Duration) pgx.TxOptions {
	return txSettings{idle: idle}.options()
}

// beginQuery begins every Hooklatch transaction.
const beginQuery = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// options returns options that begin the transaction in a separate round trip.
func (s txSettings) options() pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: beginQuery + ";\n" + s.query()}
}

// query returns the statement that applies the settings to the transaction. It sets
// synchronous_commit to "on", or leaves it at "remote_apply": with any lower setting, a crash could
// lose an acknowledged row. It ensures that the server sends the warning about a cancelled wait for
// the standby: see PreparePool. With s.confirm, it writes a WAL message, so that COMMIT waits for
// the standby.
func (s txSettings) query() string {
	var q strings.Builder
	q.WriteString(`SELECT
	set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
	set_config('client_min_messages', CASE current_setting('client_min_messages') WHEN 'error' THEN 'warning' ELSE current_setting('client_min_messages') END, true)`)
	if s.ours {
		q.WriteString(",\n\t" + pipeline.Settings + ",\n\t" + pipeline.SettingsOnce)
	}
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{
		{"lock_timeout", s.lockWait},
		{"statement_timeout", s.statement},
		{"idle_in_transaction_session_timeout", s.idle},
	} {
		if limit.d > 0 {
			fmt.Fprintf(&q, ",\n\tset_config('%s', '%d', true)", limit.name, max(limit.d.Milliseconds(), 1))
		}
	}
	if s.confirm {
		q.WriteString(",\n\tpg_logical_emit_message(true, 'hooklatch.confirm', '')")
	}
	return q.String()
}

// inTransaction runs f in a transaction on its own connection. All Hooklatch writes use it, except
// writes of DB.Statement and writes that join a caller's transaction. Every transaction has a name,
// and therefore its own failpoints.
func inTransaction(ctx context.Context, pool *pgxpool.Pool, name Name, settings txSettings, f func(context.Context, pgx.Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return &transientError{op: "acquire connection", err: err}
	}
	defer conn.Release()
	if err := requirePrepared(ctx, conn.Conn()); err != nil {
		return err
	}
	tx := &transaction{conn: conn.Conn(), settings: settings}
	if notes := conn.Conn().PgConn().CustomData(); settings.used != "" && notes[settings.used] == nil {
		f = withTimeToPlan(ctx, f, func() { notes[settings.used] = true })
	}
	err = tx.run(ctx, name, func(tx pgx.Tx) error { return f(ctx, tx) })
	tx.learn(err == nil)
	if !settings.undo && (err == nil || isAmbiguous(err)) {
		for _, tell := range tx.committed {
			tell()
		}
	}
	return err
}

// withTimeToPlan gives the statements of f at least firstTimeout, and calls planned if they succeed.
// If ctx is done by then, nobody waits for the transaction any more, so it is rolled back. Its
// connection is kept.
func withTimeToPlan(ctx context.Context, f func(context.Context, pgx.Tx) error, planned func()) func(context.Context, pgx.Tx) error {
	return func(_ context.Context, tx pgx.Tx) error {
		deadline, _ := ctx.Deadline() // a Group's context has one
		if least := time.Now().Add(firstTimeout); deadline.Before(least) {
			deadline = least
		}
		planning, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		if err := f(planning, tx); err != nil {
			return err
		}
		planned()
		if err := ctx.Err(); err != nil {
			return &transientError{op: "plan", err: err}
		}
		return nil
	}
}

// run runs the transaction from BEGIN to its end.
func (t *transaction) run(ctx context.Context, name Name, f func(pgx.Tx) error) error {
	if failpoint.Enabled {
		if err := t.begin(ctx); err != nil {
			return t.failed(ctx, err)
		}
	}
	if err := failpoint.HitIn(name, failpoint.Begin); err != nil {
		rollback(ctx, t)
		return &transientError{op: "begin", err: err}
	}
	if err := f(t); err != nil {
		return t.failed(ctx, err)
	}
	if err := t.begin(ctx); err != nil { // f may have sent nothing, but the settings may write
		return t.failed(ctx, err)
	}
	if err := failpoint.HitIn(name, failpoint.BeforeCommit); err != nil {
		rollback(ctx, t)
		return &transientError{op: "write", err: err}
	}
	end := commit
	if t.settings.undo {
		end = undo
	}
	if err := end(ctx, t); err != nil {
		return err
	}
	if err := failpoint.HitIn(name, failpoint.AfterCommit); err != nil {
		return &transientError{op: "commit", err: err, ambiguous: true}
	}
	return nil
}

// failed rolls back. It returns a transientError if the connection was lost or ctx has ended, and
// otherwise err.
func (t *transaction) failed(ctx context.Context, err error) error {
	lost := t.conn.IsClosed()
	rollback(ctx, t)
	if lost || ctx.Err() != nil {
		return &transientError{op: "write", err: err}
	}
	return err
}

// commit commits the transaction and classifies the error, if any.
func commit(ctx context.Context, tx pgx.Tx) error {
	wait := watchStandby(tx.Conn())
	if err := tx.Commit(ctx); err != nil {
		return commitError(err)
	}
	if wait.cancelled() {
		return &transientError{op: "commit", err: ErrNotOnStandby, ambiguous: true}
	}
	return nil
}

// undo rolls the transaction back and, unlike rollback, returns the error.
func undo(ctx context.Context, tx pgx.Tx) error {
	if err := tx.Rollback(ctx); err != nil {
		return &transientError{op: "rollback", err: err}
	}
	return nil
}

// rollback rolls the transaction back. It waits at most rollbackTimeout for a server that no longer
// responds. A closed connection has nothing to roll back.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // the transaction's own error is the one to report
}
