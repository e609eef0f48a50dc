package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

func listen(t *trial) {
	channel := string(t.schema)
	a, b := t.open("LISTEN "+channel), t.open()
	next := func(patience time.Duration) string {
		ctx, cancel := context.WithTimeout(t.ctx, patience)
		defer cancel()
		a.run("SELECT 1") // the response also delivers earlier notifications
		n, err := a.WaitForNotification(ctx)
		if err != nil {
			return "nothing"
		}
		return n.Payload
	}
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		b.run(begin, fmt.Sprintf("SELECT pg_notify('%s', '%s')", channel, end))
		expect(t, "notified before "+end, next(pause), "nothing")
		b.run(end)
	}
	expect(t, "notified within 3 seconds", next(3*time.Second), "COMMIT")
	a.run("UNLISTEN *")
}

// sessionLocks takes and releases locks within transactions, so that a transaction pooler's server
// connection keeps none.
func sessionLocks(t *trial) {
	const key = "(hashtextextended('hooklatch.engine session', 0))"
	a, b := t.open(begin, "SELECT pg_advisory_lock"+key, "COMMIT"), t.open(begin)
	if value[bool](b, "SELECT pg_try_advisory_lock"+key) {
		for value[bool](b, "SELECT pg_advisory_unlock"+key) {
			continue // a pooler's server connection holds the lock twice if both sessions use it
		}
		t.require(errors.New("two sessions held the same lock"))
	}
	b.run("COMMIT")
	expect(t, "a session still has its lock", value[bool](a, "SELECT pg_advisory_unlock"+key), true)
	expect(t, "a released lock is free", value[bool](b, "SELECT pg_try_advisory_lock"+key), true)
	b.run("SELECT pg_advisory_unlock" + key)
}

func preparedStatements(t *trial) {
	s := t.open()
	_, err := s.Prepare(t.ctx, string(t.schema), "SELECT $1::integer")
	t.require(err)
	// A transaction pooler gives one of these sessions the server connection that prepared the
	// statement. The first session then gets another connection, in which the statement is missing.
	t.open(begin)
	t.open(begin)
	expect(t, "result of a prepared statement", value[int](s, string(t.schema), 7), 7)
}

func activity(t *trial) {
	a, b := t.open(begin), t.open()
	process := value[int](a, "SELECT pg_backend_pid()")
	expect(t, "state of a session of the role", value[string](b, "SELECT COALESCE(state, 'hidden') FROM pg_stat_activity WHERE pid = $1", process), "idle in transaction")
	expect(t, "a session of the role can be ended", value[bool](b, "SELECT pg_terminate_backend($1)", process), true)
	for a.exec("SELECT 1") == nil { // the session does not end immediately
		t.pause()
	}
	t.require(t.ctx.Err())
}

func serverIdentity(t *trial) {
	t.open("SELECT system_identifier FROM pg_control_system()", "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)")
}
