package checker

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query/*.sql
var queries embed.FS

// statements holds the texts of query/*.sql. Each statement except the last returns the
// rows of a table, one JSON object per row.
type statements struct {
	ProcessedEvents            statement.Bound
	Deliveries                 statement.Bound
	Effects                    statement.Bound
	EffectEvents               statement.Bound
	EffectAttempts             statement.Bound
	EffectTransitions          statement.Bound
	EventReplays               statement.Bound
	OperatorLog                statement.Bound
	ObjectVersions             statement.Bound
	ContentGuards              statement.Bound
	DeliveryCopies             statement.Bound
	Destinations               statement.Bound
	RiverJob                   statement.Bound
	TortureBooks               statement.Bound
	TortureHandled             statement.Bound
	TortureOrdersOfApplication statement.Bound
	DatabaseClock              statement.Bound
}

// The tables of a snapshot. The name of a table in the run's own schema includes the schema.
const (
	tableEvents       = "processed_events"
	tableDeliveries   = "deliveries"
	tableEffects      = "effects"
	tableLinks        = "effect_events"
	tableAttempts     = "effect_attempts"
	tableTransitions  = "effect_transitions"
	tableReplays      = "event_replays"
	tableOperatorLog  = "operator_log"
	tableObjects      = "object_versions"
	tableWindows      = "content_guards"
	tableCopies       = "delivery_copies"
	tableDestinations = "destinations"
	tableJobs         = "river_job"
	tableBooks        = "torture.books"
	tableHandled      = "torture.handled"
	tableApplication  = "torture.orders_of_application"
	// tableClock has one row, the last of a snapshot: the database's time when the row was
	// written. Its presence shows that the snapshot is complete.
	tableClock = "clock"
)

// Snapshot writes all rows that Check needs into a history. It reads them from one database
// snapshot.
func Snapshot(ctx context.Context, pool *pgxpool.Pool, name schema.Name, w *history.Writer) error {
	var s statements
	if err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments()); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	atOnce := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, pool, atOnce, func(tx pgx.Tx) error {
		// Times are written in UTC. The read has no time limit.
		if _, err := tx.Exec(ctx, "SET LOCAL timezone = 'UTC'; SET LOCAL statement_timeout = 0"); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		for _, t := range []struct {
			table string
			rows  statement.Bound
		}{
			{tableEvents, s.ProcessedEvents}, {tableDeliveries, s.Deliveries}, {tableReplays, s.EventReplays},
			{tableEffects, s.Effects}, {tableLinks, s.EffectEvents}, {tableAttempts, s.EffectAttempts}, {tableTransitions, s.EffectTransitions},
			{tableOperatorLog, s.OperatorLog}, {tableObjects, s.ObjectVersions}, {tableWindows, s.ContentGuards}, {tableCopies, s.DeliveryCopies}, {tableDestinations, s.Destinations}, {tableJobs, s.RiverJob},
			{tableBooks, s.TortureBooks}, {tableHandled, s.TortureHandled}, {tableApplication, s.TortureOrdersOfApplication},
			{tableClock, s.DatabaseClock},
		} {
			if err := copyRows(ctx, tx, t.rows, t.table, w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

func copyRows(ctx context.Context, tx pgx.Tx, statement statement.Bound, table string, w *history.Writer) error {
	rows, err := statement.Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	var columns string
	if _, err := pgx.ForEachRow(rows, []any{&columns}, func() error {
		w.Add(history.Record{Who: "database", Kind: history.Row, Op: history.OpTable, Table: table, Columns: json.RawMessage(columns)})
		return nil
	}); err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	return nil
}
