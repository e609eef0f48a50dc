package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
)

// fill describes copies of the rows of one real lifecycle, each with separate keys. The copies
// simulate years of use. Copying also works on the tables of earlier versions, and a new column
// needs no change here.
type fill struct {
	event  string // event whose lifecycle is copied
	tables []string
	first  int // number of the first copy
	lives  int
	order  load.Order
	// every is the time between two consecutive copies. The last copy has the current time. If
	// every is 0, all copies have the time of the copied lifecycle.
	every time.Duration
}

const (
	// filledFirst is the number of the first copy. Smaller numbers are for real lifecycles.
	filledFirst = 10_001
	// filledAtOnce is the number of lifecycles that one statement copies.
	filledAtOnce = 250_000
)

// filled is a table whose rows a fill copies.
type filled struct {
	name   string
	where  string // selects the rows of a lifecycle, whose event is $1
	change string // changes besides keys, as JSON; s is the original, f.n and f.id name the copy
}

// filledTables lists the tables of this version and of earlier ones. fill skips tables that a
// version lacks or does not write.
func filledTables() []filled {
	const none, ofKey = "'{}'", "key = $1"
	later := func(column string) string {
		return fmt.Sprintf("'%[1]s', s.%[1]s + f.n * interval '1 microsecond'", column)
	}
	return []filled{
		{"processed_events", "event_id = $1", none},
		{
			"deliveries", "delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = $1)",
			`jsonb_build_object('body', '\x' || encode(overlay(s.body PLACING convert_to(f.id, 'UTF8') FROM 8), 'hex'))`,
		},
		{
			"effects", "event_id = $1",
			"jsonb_build_object('idempotency_key', hooklatch.idempotency_key(s.scope, f.id, 1), " + later("next_attempt_at") + ")",
		},
		{"links", ofKey, none},
		{"attempts", "effect_id = (SELECT effect_id FROM hooklatch.effects WHERE event_id = $1)", none},
		{"effect_events", ofKey, none},
		{"effect_attempts", ofKey, none},
		{"effect_transitions", ofKey, none},
		{
			"river_job", "args ->> 'key' = $1",
			"jsonb_build_object('id', f.n, 'args', s.args || jsonb_build_object('key', f.id), " + later("scheduled_at") + ")",
		},
	}
}

// keptTables returns the tables whose rows remain after a lifecycle ends. Bodies and jobs are
// deleted.
func keptTables() []string {
	var kept []string
	for _, t := range filledTables() {
		if t.name != "deliveries" && t.name != "river_job" {
			kept = append(kept, t.name)
		}
	}
	return kept
}

// allTables returns the tables of an unfinished lifecycle.
func allTables() []string {
	var all []string
	for _, t := range filledTables() {
		all = append(all, t.name)
	}
	return all
}

//go:embed query/fill_keys.sql
var fillKeysSQL string

//go:embed query/fill_rows.sql
var fillRowsSQL string

//go:embed query/fill_sequences.sql
var fillSequencesSQL string

//go:embed query/fill_indexes.sql
var fillIndexesSQL string

//go:embed query/table_exists.sql
var tableExistsSQL string

// fillTables creates the rows of the fills, one fill after another.
func (b *bench) fillTables(ctx context.Context, server *postgres, database string, fills ...fill) error {
	conn, err := pgx.Connect(ctx, server.cluster.Primary(database))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is not used again
	if err := prepareFill(ctx, conn); err != nil {
		return err
	}
	for _, f := range fills {
		if err := b.fill(ctx, conn, f); err != nil {
			return fmt.Errorf("fill tables with %d lifecycles: %w", f.lives, err)
		}
	}
	for _, statement := range []string{"TRUNCATE filling", "VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// prepareFill makes the preparations that all fills share. Indexes on random keys get as much
// free space as indexes that grew gradually.
func prepareFill(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, fillIndexesSQL)
	if err != nil {
		return fmt.Errorf("find the indexes: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("find the indexes: %w", err)
	}
	statements = append(statements,
		"SET session_replication_role = replica", // triggers would take most of the time
		"SET synchronous_commit = off",
		"CREATE TEMPORARY TABLE filling (n bigint, id text, changes jsonb)",
	)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (b *bench) fill(ctx context.Context, conn *pgx.Conn, f fill) error {
	var found []filled
	for _, t := range filledTables() {
		if !slices.Contains(f.tables, t.name) {
			continue
		}
		has, err := takeLife(ctx, conn, t, f.event)
		if err != nil {
			return err
		}
		if has {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return errors.New("there is no lifecycle to copy")
	}
	last := f.first + f.lives - 1
	for from := f.first; from <= last; from += filledAtOnce {
		to := min(from+filledAtOnce-1, last)
		if _, err := conn.Exec(ctx, "TRUNCATE filling"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, fillKeysSQL, from, to, f.first, last, f.order == load.Timely, f.every.Seconds()); err != nil {
			return fmt.Errorf("create keys: %w", err)
		}
		for _, t := range found {
			if _, err := conn.Exec(ctx, fmt.Sprintf(fillRowsSQL, t.name, t.change)); err != nil {
				return fmt.Errorf("copy rows of %s: %w", t.name, err)
			}
		}
		if last-f.first >= filledAtOnce {
			b.sayf("%d of %d lifecycles", to-f.first+1, f.lives)
		}
	}
	_, err := conn.Exec(ctx, fillSequencesSQL, last+1)
	return err
}

// takeLife copies the rows that a lifecycle has in a table to a temporary table. It returns false
// if the rows or the table do not exist.
func takeLife(ctx context.Context, conn *pgx.Conn, t filled, event string) (bool, error) {
	var exists bool
	if err := conn.QueryRow(ctx, tableExistsSQL, t.name).Scan(&exists); err != nil {
		return false, fmt.Errorf("look for %s: %w", t.name, err)
	}
	if !exists {
		return false, nil
	}
	for _, statement := range []string{
		"DROP TABLE IF EXISTS pg_temp.life_" + t.name,
		"CREATE TEMPORARY TABLE life_" + t.name + " (LIKE hooklatch." + t.name + ")",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return false, fmt.Errorf("%s: %w", statement, err)
		}
	}
	tag, err := conn.Exec(ctx, "INSERT INTO pg_temp.life_"+t.name+" SELECT t.* FROM hooklatch."+t.name+" AS t WHERE "+t.where, event)
	if err != nil {
		return false, fmt.Errorf("take the rows of %s: %w", t.name, err)
	}
	return tag.RowsAffected() > 0, nil
}
