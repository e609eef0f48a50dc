package erasure_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

//go:embed testdata/columns.txt
var columnsText string

// Classes of the contents of a column.
const (
	erased = "erased" // data that a sender wrote, or a receiver returned
	kept   = "kept"   // data that identifies a duplicate event or effect
	ours   = "ours"   // texts of the configuration, an operator or the program
)

// columns returns the class of each column in testdata/columns.txt, by table and name.
func columns(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for line := range strings.Lines(columnsText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		require.Contains(t, []string{erased, kept, ours}, fields[1], line)
		all[fields[0]] = fields[1]
	}
	return all
}

// The file testdata/columns.txt lists every column that can hold a text. A change that adds such a
// column must therefore declare whether an erasure empties it.
func TestEveryColumnThatCanHoldATextIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows, err := b.pool.Query(t.Context(), `
		SELECT c.table_name || '.' || c.column_name
		FROM information_schema.columns AS c
		JOIN pg_class AS r ON r.oid = format('%I.%I', c.table_schema, c.table_name)::regclass
		WHERE c.table_schema = 'hooklatch'
			AND r.relkind IN ('r', 'p')
			AND NOT r.relispartition
			AND c.data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'bytea', 'xml', 'ARRAY', 'tsvector')
		ORDER BY 1`)
	require.NoError(t, err)
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var listed []string
	for column := range columns(t) {
		listed = append(listed, column)
	}
	slices.Sort(listed)
	slices.Sort(there)
	require.Equal(t, there, listed, "columns of a migrated database, and of testdata/columns.txt")
}

// rowsOf is the SQL condition for the canary event's rows, by table.
var rowsOf = map[string]string{
	"processed_events":   `event_id = 'canary'`,
	"deliveries_kept":    `true`,
	"deliveries":         `delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = 'canary')`,
	"effects":            `key IN ('canary', 'alone')`,
	"attempts":           `true`,
	"effect_attempts":    `true`,
	"transitions":        `true`,
	"former_transitions": `true`,
	"event_replays":      `true`,
	"river_job":          `true`,
	"destinations":       `true`,
	"search_values":      `true`,

	"rejected_deliveries": `true`,
}

// canaryOf returns the text that plant writes to a column and the test later searches for.
func canaryOf(column string) string { return "canary in " + column }

// plant puts a canary into every column that an erasure has to empty, and returns the canaries.
func (b *bundle) plant(t *testing.T) (canaries []string) {
	t.Helper()
	for column, holds := range columns(t) {
		if holds != erased || column == "deliveries.body" || column == "rejected_deliveries.body" { // the event's part of these bodies contains a canary
			continue
		}
		table, name, _ := strings.Cut(column, ".")
		require.Contains(t, rowsOf, table, "rowsOf has no condition for the rows of the event in this table")
		value := map[string]string{
			"text":      `$1::text`,
			"jsonb":     `jsonb_build_object('x', jsonb_build_array($1::text))`,
			"jsonb[]":   `ARRAY[jsonb_build_object('x', $1::text)]`,
			"bytea":     `convert_to($1::text, 'UTF8')`,
			"varchar[]": `ARRAY[$1::text]`,
		}
		var kind string
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT replace(regexp_replace(format_type(atttypid, atttypmod), '\(\d+\)', ''), 'character varying', 'varchar')
			FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2`, "hooklatch."+table, name).Scan(&kind))
		require.Contains(t, value, kind, column)
		text := canaryOf(column)
		if column == "destinations.breaker_reason" {
			text = "2 attempts in a row failed, the last with: " + text
		}
		tag, err := b.pool.Exec(t.Context(), fmt.Sprintf(`UPDATE hooklatch.%s SET %s = %s WHERE %s`, table, name, value[kind], rowsOf[table]), text)
		require.NoError(t, err, column)
		require.NotZero(t, tag.RowsAffected(), "no row has %s", column)
		canaries = append(canaries, canaryOf(column))
	}
	return canaries
}

// A dump contains no erased data: neither as text nor hex-encoded.
func TestNothingThatWasErasedIsInADump(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('app', 'http', 'dst_app', '')`)
	// One delivery contains two events, and the application enqueues an effect.
	const body = `[{"name": "canary in deliveries.body"}, {"name":"Joe"}]`
	b.accept(t, body, map[string]string{"canary": "/0", "other": "/1"})
	effect := b.dispatch(t, "canary", "canary")[0]
	b.settle(t, b.claim(t, effect), ledger.VerdictDone)
	b.exec(t, `SELECT hooklatch.enqueue('app', 'alone', '{}')`)
	alone := identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: "alone", Generation: 1}
	b.settle(t, b.claim(t, alone), ledger.VerdictDone)
	b.legacy(t, effect)
	b.refused(t, "shop", body)
	// A row with an order key requires these columns.
	b.exec(t, `UPDATE hooklatch.effects SET order_key = 'x', accept_seq = COALESCE(accept_seq, 1), occurred_at = now()`)
	canaries := append(b.plant(t), canaryOf("deliveries.body"))
	for _, one := range canaries {
		require.True(t, contains(b.dump(t), one), "%s is not found where it was put: the search finds nothing", one)
	}

	require.Equal(t, erasure.Erased{Effects: 1, Others: 1, Kept: nil}, b.erase(t, "canary"))
	headers := canaryOf("deliveries.headers")
	require.True(t, contains(b.dump(t), headers), "the headers also belong to the other event")
	other := b.event(t, "other")
	require.JSONEq(t, `{"name":"Joe"}`, string(other.Payload()))
	require.Equal(t, `[null, {"name":"Joe"}]`, string(other.Body))
	_, err := b.Erasure().Effect(t.Context(), alone.IdempotencyKey(), ann, erasure.Order{})
	require.NoError(t, err)
	_, err = b.Erasure().Event(t.Context(), ref("other"), ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	b.exec(t, `VACUUM`)
	dump := b.dump(t)
	for _, one := range canaries {
		require.False(t, contains(dump, one), "%s is still there", one)
	}
	came := b.accept(t, body, map[string]string{"canary": "/0"})
	require.Equal(t, outbox.Duplicate, came.Events[0].Status)
}

// An event's text occurs in several parts of deliveries and in refused requests. A run and the
// erasure itself search for the text. A dump after the erasure does not contain it.
func TestNothingThatWasRepeatedIsInADump(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const canary = "canary@example.com"
	const jane, joe, jim = `{"email":"` + canary + `"}`, `{"email":"joe@example.com"}`, `{"email":"jim@example.com"}`
	b.bring(t, `[`+jane+`,`+jane+`,`+joe+`]`, "jane", "/0", "jane", "/1", "joe", "/2")
	b.bring(t, `{"events":[`+jim+`,`+jane+`]}`, "jim", "/events/0", "jane", "/events/1")
	b.bring(t, `[`+jane+`]`, "jane", "/0") // all events are duplicates, so the delivery is not stored
	b.refused(t, "shop", `[`+jane+`,`+jane+`,`+joe+`]`)
	b.refused(t, "shop", `{"events":[`+jim+`,`+jane+`]}`)
	for _, id := range []string{"jane", "joe", "jim"} {
		for _, effect := range b.dispatch(t, id, id) {
			b.settle(t, b.claim(t, effect), ledger.VerdictDone)
		}
	}
	all := b.Runs().With(b.Finder().With(func(context.Context, string) (find.Match, error) {
		return find.Match{By: func(*inbox.Event) (bool, error) { return false, nil }}, nil
	}))
	run, err := all.Begin(t.Context(), runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Content: find.Content{When: `body.email == "` + canary + `"`}}}, ann)
	require.NoError(t, err)
	_, err = all.Work(t.Context(), run.ID, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	require.True(t, contains(b.dump(t), canary))

	run, err = b.Runs().Through(t.Context(), runs.Order{Action: erasure.ActionEraseEvent, Events: find.Events{Content: find.Content{Contains: canary}}}, ann, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, run.Changed)
	b.exec(t, `VACUUM`)
	require.False(t, contains(b.dump(t), canary))
	require.JSONEq(t, `[null,null,`+joe+`]`, string(b.event(t, "joe").Body))
	require.JSONEq(t, `{"events":[`+jim+`,null]}`, string(b.event(t, "jim").Body))
}

// legacy creates rows as older versions wrote them, and rows of tables that are otherwise empty here.
func (b *bundle) legacy(t *testing.T, id identity.EffectID) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`); err != nil {
			return err
		}
		for _, query := range []string{
			`INSERT INTO hooklatch.effect_attempts (scope, key, generation, attempt, started_at, finished_at, state, applied)
				VALUES ($1, $2, $3, 1, now(), clock_timestamp(), 'done', 'yes')`,
			`INSERT INTO hooklatch.former_transitions (scope, key, generation, from_state, to_state, attempt) VALUES ($1, $2, $3, 'pending', 'started', 1)`,
			`INSERT INTO hooklatch.transitions (effect_id, from_state, to_state, attempt) SELECT effect_id, 'pending', 'started', 1
				FROM hooklatch.effects WHERE scope = $1 AND key = $2 AND generation = $3`,
		} {
			if _, err := tx.Exec(t.Context(), query, id.Scope, id.Key, id.Generation); err != nil {
				return err
			}
		}
		// Before retention drops a day, the deliveries that unfinished work needs are in both tables.
		if _, err := tx.Exec(t.Context(), `INSERT INTO hooklatch.deliveries_kept (delivery_id, received_at, source, headers, content_type, body, kept_for)
			SELECT delivery_id, received_at, source, headers, content_type, body, '{1}' FROM hooklatch.deliveries`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO hooklatch.event_replays (source, event_id, generation, new_keys) VALUES ('shop', 'canary', 2, false)`)
		return err
	})
	require.NoError(t, err)
}

// contains reports whether a dump contains a text, plain or hex-encoded.
func contains(dump []byte, text string) bool {
	return bytes.Contains(dump, []byte(text)) || bytes.Contains(dump, []byte(hex.EncodeToString([]byte(text))))
}

// dump returns the output of pg_dump, or of COPY for all tables if pg_dump cannot be used.
func (b *bundle) dump(t *testing.T) []byte {
	t.Helper()
	config := b.pool.Config().ConnConfig
	if program := pgDump(); program != "" {
		cmd := exec.CommandContext(t.Context(), program, "--host", config.Host, "--port", strconv.FormatUint(uint64(config.Port), 10), "--username", config.User, config.Database)
		cmd.Env = append(cmd.Environ(), "PGPASSWORD="+config.Password)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err == nil {
			return out
		}
		t.Logf("pg_dump: %v: %s", err, stderr.String()) // for example, pg_dump is older than the server
	}
	rows, err := b.pool.Query(t.Context(), `SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'hooklatch'::regnamespace AND relkind = 'r'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	var out bytes.Buffer
	for _, table := range tables {
		_, err := conn.Conn().PgConn().CopyTo(t.Context(), &out, "COPY "+table+" TO STDOUT")
		require.NoError(t, err)
	}
	return out.Bytes()
}

// pgDump returns the path of the newest pg_dump, or an empty string if none is installed.
func pgDump() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	if err == nil && len(found) > 0 {
		return slices.Max(found)
	}
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		return ""
	}
	return program
}
