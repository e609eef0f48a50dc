package engine

import (
	_ "embed"
	"strings"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

var (
	//go:embed query/partitions.sql
	makePartitions string
	//go:embed query/triggers.sql
	makeTriggers string
)

func ddl(t *trial) {
	s := t.open(begin, "CREATE TABLE hooklatch.t_ddl (n integer)", "CREATE INDEX ON hooklatch.t_ddl (n)", "ROLLBACK")
	expect(t, "a table whose transaction was rolled back is gone", value[bool](s, "SELECT to_regclass('hooklatch.t_ddl') IS NULL"), true)
}

const remaining = "SELECT string_agg(body::text, ' ' ORDER BY at) FROM hooklatch.t_days"

func partitions(t *trial) {
	s := t.open(makePartitions)
	expect(t, "rows of a day", value[string](s, remaining+"_2"), `\x02`)
	s.refused(sqlstate.CheckViolation, "INSERT INTO hooklatch.t_days VALUES ('2026-01-03 00:00Z', '')")
	s.run("ALTER TABLE hooklatch.t_days DETACH PARTITION hooklatch.t_days_1", "DROP TABLE hooklatch.t_days_1")
	expect(t, "rows without the first day", value[string](s, remaining), `\x02`)
}

func detachConcurrently(t *trial) {
	s := t.open(makePartitions, "ALTER TABLE hooklatch.t_days DETACH PARTITION hooklatch.t_days_1 CONCURRENTLY")
	expect(t, "rows without the first day", value[string](s, remaining), `\x02`)
}

func concurrentIndex(t *trial) {
	s := t.open("CREATE TABLE hooklatch.t_index AS SELECT n, n % 2 AS odd FROM generate_series(1, 100) AS n",
		"CREATE INDEX CONCURRENTLY t_index_n ON hooklatch.t_index (n) INCLUDE (odd) WHERE odd = 1")
	expect(t, "the index is valid", value[bool](s, "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('hooklatch.t_index_n') AND indisvalid)"), true)
	s.run("DROP INDEX CONCURRENTLY hooklatch.t_index_n")
}

func partialIndex(t *trial) {
	s := t.open("CREATE TABLE hooklatch.t_partial (key text, live boolean, n integer DEFAULT 0)",
		"CREATE UNIQUE INDEX ON hooklatch.t_partial (key) WHERE live",
		"INSERT INTO hooklatch.t_partial VALUES ('a', false), ('a', false)")
	// River inserts a unique job in this way: xmax distinguishes the existing row from a new one.
	const insert = "INSERT INTO hooklatch.t_partial AS t VALUES ('a', true) ON CONFLICT (key) WHERE live DO UPDATE SET n = t.n + 1 RETURNING xmax <> 0"
	for _, wanted := range []bool{false, true} {
		expect(t, "INSERT of a unique row found an existing one", value[bool](s, insert), wanted)
	}
}

func triggers(t *trial) {
	s := t.open(makeTriggers, "UPDATE hooklatch.t_effects SET state = 'done'")
	s.refused(sqlstate.CheckViolation, "UPDATE hooklatch.t_effects SET state = 'pending'")
	expect(t, "recorded", value[string](s, "SELECT COALESCE(string_agg(concat_ws(' ', key, from_state, to_state), ', ' ORDER BY key), 'nothing') FROM hooklatch.t_transitions"),
		"a pending done, b pending done")
}

func sequences(t *trial) {
	a, b := t.open("CREATE SEQUENCE hooklatch.t_sequence AS bigint"), t.open()
	last := int64(0)
	for i := range 10 {
		n := value[int64]([]*session{a, b}[i%2], "SELECT nextval('hooklatch.t_sequence')")
		expect(t, "a session got a larger number than the other session before it", n > last, true)
		last = n
	}
}

func bodies(t *trial) {
	s := t.open("CREATE TABLE hooklatch.t_bodies (body bytea NOT NULL)")
	body := strings.Repeat("\x00\xff\\'\n{é", 1<<20)
	t.require(s.exec("INSERT INTO hooklatch.t_bodies VALUES ($1)", []byte(body)))
	got := string(value[[]byte](s, "SELECT body FROM hooklatch.t_bodies"))
	expect(t, "stored bytes", len(got), len(body))
	expect(t, "the stored bytes are the sent ones", got == body, true)
}

func texts(t *trial) {
	s := t.open("CREATE TABLE hooklatch.t_texts (plain text, json jsonb, list text[])")
	text := strings.Repeat("é😀\u200b\x01'\"\\ ", 1<<17)
	t.require(s.exec("INSERT INTO hooklatch.t_texts VALUES ($1, $2, $3)", text, map[string]string{"text": text}, []string{text, ""}))
	for _, column := range []string{"plain", "json ->> 'text'", "list[1]"} {
		got := value[string](s, "SELECT "+column+" FROM hooklatch.t_texts")
		expect(t, "stored bytes of text in "+column, len(got), len(text))
		expect(t, "the stored text is the sent one in "+column, got == text, true)
	}
	expect(t, "JSON keeps all digits", value[bool](s, `SELECT '{"a": 12345678901234567890.5, "b": 1}'::jsonb = '{"b":1,"a":1.23456789012345678905e19}'::jsonb`), true)
}

func times(t *trial) {
	const at = "2026-03-29 23:59:59.123456+00"
	s := t.open("CREATE TABLE hooklatch.t_times (at timestamptz)", begin, "SET LOCAL TimeZone = 'Asia/Kathmandu'", "INSERT INTO hooklatch.t_times VALUES ('"+at+"')")
	expect(t, "stored time", value[string](s, "SELECT (at AT TIME ZONE 'UTC')::text || '+00' FROM hooklatch.t_times"), at)
	s.run("SELECT pg_sleep(0.1)")
	expect(t, "now() is the start of the transaction", value[bool](s, "SELECT extract(epoch FROM clock_timestamp() - now()) >= 0.1"), true)
	s.run("COMMIT")
}

func standbyWait(t *trial) {
	s := t.open(begin, "SELECT pg_logical_emit_message(true, 'hooklatch.engine', '')")
	expect(t, "the message makes the transaction one that writes", value[bool](s, "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"), true)
	s.run("COMMIT")
}
