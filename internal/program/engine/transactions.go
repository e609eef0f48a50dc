package engine

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

func commits(t *trial) {
	a, b := t.open("CREATE TABLE hooklatch.t_commit (n integer)"), t.open()
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		a.run(begin, "INSERT INTO hooklatch.t_commit VALUES (1)", end)
		expect(t, "rows that another session sees after "+end, value[int](b, "SELECT count(*) FROM hooklatch.t_commit"), 1)
	}
}

func failedCommit(t *trial) {
	s := t.open(begin)
	s.refused("22012", "SELECT 1/0")
	if tag, err := s.Exec(t.ctx, "COMMIT"); err == nil && tag.String() == "COMMIT" {
		t.require(errors.New("COMMIT of a failed transaction reported success"))
	}
}

func insertOnce(t *trial) {
	a, b := t.open("CREATE TABLE hooklatch.t_once (key text PRIMARY KEY)"), t.open()
	const insert = "INSERT INTO hooklatch.t_once VALUES ($1) ON CONFLICT DO NOTHING RETURNING key"
	for end, wanted := range map[string]error{"COMMIT": pgx.ErrNoRows, "ROLLBACK": nil} {
		a.run(begin)
		value[string](a, insert, end)
		b.waits(insert, end)
		b.run(begin)
		inserted := b.later(insert, end)
		a.run(end)
		if err := inserted(); !errors.Is(err, wanted) {
			expect(t, "the second INSERT of a key after "+end+" of the first", err, wanted)
		}
		b.run("COMMIT")
	}
}

func readCommitted(t *trial) {
	a, b := t.open("CREATE TABLE hooklatch.t_read AS SELECT 'open' AS state", begin), t.open()
	for _, committed := range []string{"'open'", "'seen'"} {
		b.run("UPDATE hooklatch.t_read SET state = " + committed)
		expect(t, "read after another session's COMMIT", value[string](a, "SELECT quote_literal(state) FROM hooklatch.t_read"), committed)
	}
	a.run("UPDATE hooklatch.t_read SET state = 'done'")
	b.run(begin)
	found := b.later("SELECT state FROM hooklatch.t_read WHERE state = 'seen' FOR UPDATE")
	a.run("COMMIT")
	if err := found(); !errors.Is(err, pgx.ErrNoRows) {
		expect(t, "FOR UPDATE of a row that no longer matches", err, pgx.ErrNoRows)
	}
}

func skipLocked(t *trial) {
	a, b, c := t.open("CREATE TABLE hooklatch.t_skip AS SELECT * FROM generate_series(1, 2) AS n"), t.open(), t.open()
	for i, s := range []*session{a, b, c} {
		s.run(begin, hurry)
		wanted := (i + 1) % 3 // no row is left for the last session
		expect(t, "row fetched while others are locked",
			value[int](s, "SELECT COALESCE((SELECT n FROM hooklatch.t_skip ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED), 0)"), wanted)
	}
}

func locks(t *trial) {
	found, err := doctor.Locks(t.ctx, t.pool)
	t.require(err)
	if found.Level != doctor.OK {
		t.require(errors.New(found.Message))
	}
	// The waiting statement uses a different function of the server than the statement in Locks.
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.engine', 0))"
	a, b := t.open(begin, lock), t.open()
	b.waits(lock)
	a.run("COMMIT")
	b.run(begin, hurry, lock, "COMMIT")
}

func limits(t *trial) {
	a, b := t.open("CREATE TABLE hooklatch.t_limits AS SELECT 1 AS n"), t.open()
	const read = "SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')"
	before := value[string](b, read)
	a.run(begin, "UPDATE hooklatch.t_limits SET n = 2")
	b.waits("UPDATE hooklatch.t_limits SET n = 3")
	b.run(begin, hurry, "SELECT set_config('statement_timeout', '100', true)")
	b.refused(sqlstate.QueryCanceled, "SELECT pg_sleep(2)")
	b.run("ROLLBACK", begin, hurry, "COMMIT")
	expect(t, "limits after the transaction", value[string](b, read), before)
}

func idleLimit(t *trial) {
	a, b := t.open("CREATE TABLE hooklatch.t_idle AS SELECT 1 AS n", begin), t.open()
	a.run("UPDATE hooklatch.t_idle SET n = 2", "SELECT set_config('idle_in_transaction_session_timeout', '200', true)")
	b.run(begin, "SELECT set_config('lock_timeout', '10000', true)", "UPDATE hooklatch.t_idle SET n = 3", "COMMIT")
}

func savepoints(t *trial) {
	const insert = "INSERT INTO hooklatch.t_save VALUES "
	s := t.open("CREATE TABLE hooklatch.t_save (n integer CHECK (n < 9))", begin, insert+"(1)", "SAVEPOINT one", insert+"(2)")
	s.refused(sqlstate.CheckViolation, insert+"(9)")
	s.run("ROLLBACK TO SAVEPOINT one", insert+"(3)", "RELEASE SAVEPOINT one", "COMMIT")
	expect(t, "rows", value[string](s, "SELECT string_agg(n::text, ' ' ORDER BY n) FROM hooklatch.t_save"), "1 3")
}

func pipelined(t *trial) {
	s := t.open("CREATE TABLE hooklatch.t_pipeline (n integer)")
	var batch pgx.Batch
	batch.Queue(begin)
	batch.Queue(hurry)
	batch.Queue(t.schema.SQL("INSERT INTO hooklatch.t_pipeline VALUES ($1)"), 1)
	t.require(s.SendBatch(t.ctx, &batch).Close())
	expect(t, "lock_timeout", value[string](s, "SELECT current_setting('lock_timeout')"), "200ms")
	s.run("ROLLBACK")
	expect(t, "rows after ROLLBACK", value[int](s, "SELECT count(*) FROM hooklatch.t_pipeline"), 0)
}
