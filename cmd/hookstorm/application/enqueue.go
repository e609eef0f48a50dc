package application

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// noteNotReplicated marks a connection whose last COMMIT may not have reached the standby.
const noteNotReplicated = "hookstorm.not_replicated"

// fate describes the end of an application's transaction.
type fate int

// Values of fate.
const (
	commits    fate = iota
	rollsBack       // ROLLBACK
	disappears      // the connection is closed before COMMIT
	hangsUp         // COMMIT is sent, and the wait for its response is cut off after enqueue.patience
)

// via is the way to enqueue an effect.
type via string

// Values of via.
const (
	viaGo       via = "go"
	viaSQL      via = "sql"
	viaSQLBytes via = "sql_bytes"
)

// enqueue is one effect that the application enqueues.
type enqueue struct {
	key      string
	body     []byte
	via      via
	fate     fate
	patience time.Duration // how long hangsUp waits for the response to COMMIT
}

func newEnqueue(random *rand.Rand, key string) enqueue {
	// The body is formatted as Postgres formats jsonb: hooklatch.enqueue takes jsonb, and the
	// receiver gets the text of the jsonb value.
	e := enqueue{key: key, body: fmt.Appendf(nil, `{"n": %d, "key": %q}`, random.IntN(1e6), key)}
	e.via = []via{viaGo, viaSQL, viaSQLBytes}[random.IntN(3)]
	if e.via == viaSQLBytes {
		e.body = append(e.body, 0, 0xff, 0xfe) // not valid text
	}
	switch n := random.IntN(20); {
	case n < 4:
		e.fate = rollsBack
	case n == 4:
		e.fate = disappears
	case n == 5:
		e.fate = hangsUp
		e.patience = time.Duration(random.IntN(3000)) * time.Microsecond
	}
	return e
}

// rollsBack reports whether the transaction must change nothing in the database.
func (e enqueue) rollsBack() bool { return e.fate == rollsBack || e.fate == disappears }

// enqueue runs the transaction and records its result.
func (t *Traffic) enqueue(e enqueue) history.Kind {
	hash := sha256.Sum256(e.body)
	op := t.opts.History.Begin(history.Record{Who: "application", Op: history.OpEnqueue, Enqueue: &history.Enqueue{
		Destination: Direct, Key: e.key, Hash: hex.EncodeToString(hash[:]), Rollback: e.rollsBack(), Via: string(e.via),
	}})
	ctx, cancel := context.WithTimeout(context.Background(), enqueueTimeout)
	defer cancel()
	kind, err := t.transact(ctx, e)
	text := ""
	if err != nil {
		text = err.Error()
	}
	op.End(kind, text, nil)
	return kind
}

// transact runs the transaction. Until COMMIT is sent, the transaction has certainly changed
// nothing. After that, only a refusal by the server itself proves that it has changed nothing.
func (t *Traffic) transact(ctx context.Context, e enqueue) (history.Kind, error) {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return history.Fail, fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, commit.TransactionOptions(enqueueTimeout))
	if err != nil {
		return history.Fail, fmt.Errorf("begin: %w", err)
	}
	if err := t.write(ctx, tx, e); err != nil {
		_ = tx.Rollback(ctx) // the first error is the one to report
		return history.Fail, err
	}
	switch e.fate {
	case rollsBack:
		_ = tx.Rollback(ctx) // the result is certain even without a response: there was no COMMIT
		return history.Fail, nil
	case disappears:
		_ = conn.Conn().PgConn().Conn().Close() // as if the process died
		return history.Fail, nil
	case hangsUp:
		var hangUp context.CancelFunc
		ctx, hangUp = context.WithTimeout(ctx, e.patience)
		defer hangUp()
	case commits:
	}
	return commitTx(ctx, conn, tx)
}

// write inserts the application's row and enqueues the effect. If an earlier transaction with the
// key was committed, both already exist, and write adds neither.
func (t *Traffic) write(ctx context.Context, tx pgx.Tx, e enqueue) error {
	var created bool
	var err error
	switch e.via {
	case viaGo:
		created, err = t.box.EnqueueTx(ctx, tx, outbox.Enqueue{
			Destination: Direct, Key: identity.Key(e.key),
			Request: ledger.Request{ContentType: "application/json", Body: e.body},
		})
	case viaSQL:
		err = tx.QueryRow(ctx, `SELECT hooklatch.enqueue($1, $2, $3::jsonb)`, Direct, e.key, string(e.body)).Scan(&created)
	case viaSQLBytes:
		err = tx.QueryRow(ctx, `SELECT hooklatch.enqueue_bytes($1, $2, $3)`, Direct, e.key, e.body).Scan(&created)
	}
	if err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	if !created {
		return nil
	}
	if _, err := tx.Exec(ctx, `INSERT INTO torture.orders_of_application (key) VALUES ($1)`, e.key); err != nil {
		return fmt.Errorf("write the application's own row: %w", err)
	}
	return nil
}

// errNotReplicated is returned if the primary confirmed a COMMIT that may not have reached the
// standby.
var errNotReplicated = errors.New("the wait for the standby was cancelled")

func commitTx(ctx context.Context, conn *pgxpool.Conn, tx pgx.Tx) (history.Kind, error) {
	delete(conn.Conn().PgConn().CustomData(), noteNotReplicated)
	err := tx.Commit(ctx)
	switch _, alone := conn.Conn().PgConn().CustomData()[noteNotReplicated]; {
	case err == nil && alone:
		return history.Unknown, errNotReplicated
	case err == nil:
		return history.OK, nil
	case refused(err):
		return history.Fail, fmt.Errorf("commit: %w", err)
	}
	return history.Unknown, fmt.Errorf("commit: %w", err)
}

// refused reports whether the server itself refused to commit. The outcome is unknown if the
// session ended without a response, or with an error that may follow a commit. Such an error is
// fatal, or is in one of the classes 08, 57 and 58.
func refused(err error) bool {
	pg, answered := sqlstate.Of(err)
	if !answered {
		return errors.Is(err, pgx.ErrTxCommitRollback)
	}
	return pg.SeverityUnlocalized == "ERROR" && !sqlstate.InClass(pg.Code, "08", "57", "58")
}
