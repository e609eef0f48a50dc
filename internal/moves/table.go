package moves

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// table is a table whose rows the new cell must know.
type table struct {
	name string
	// page returns the statement that reads the rows after a position. For each row, the statement
	// returns the row's position and its content as JSON. The content is NULL if the move does not
	// need the row.
	page func(m *Moves, args pageArgs) statement.Bound
	// put writes contents, a JSON array, to the new cell. Repeating it changes nothing.
	put func(ctx context.Context, m *Moves, tx pgx.Tx, args putArgs, fromCell string) error
}

// tables are in the order in which they are copied: an event precedes its effects.
var tables = []table{
	{"processed_events", func(m *Moves, a pageArgs) statement.Bound { return m.sql.PageProcessedEvents.With(a) },
		func(ctx context.Context, m *Moves, tx pgx.Tx, a putArgs, _ string) error {
			_, err := m.sql.PutProcessedEvents.With(a).Exec(ctx, tx)
			return err
		}},
	{"replay_guards", func(m *Moves, a pageArgs) statement.Bound { return m.sql.PageReplayGuards.With(a) },
		func(ctx context.Context, m *Moves, tx pgx.Tx, a putArgs, _ string) error {
			_, err := m.sql.PutReplayGuards.With(a).Exec(ctx, tx)
			return err
		}},
	{"content_guards", func(m *Moves, a pageArgs) statement.Bound { return m.sql.PageContentGuards.With(a) },
		func(ctx context.Context, m *Moves, tx pgx.Tx, a putArgs, _ string) error {
			_, err := m.sql.PutContentGuards.With(a).Exec(ctx, tx)
			return err
		}},
	{"effects", func(m *Moves, a pageArgs) statement.Bound { return m.sql.PageEffects.With(a) }, putEffects},
	{"object_versions", func(m *Moves, a pageArgs) statement.Bound { return m.sql.PageObjectVersions.With(a) },
		func(ctx context.Context, m *Moves, tx pgx.Tx, a putArgs, _ string) error {
			_, err := m.sql.PutObjectVersions.With(putVersions{Contents: a.Contents}).Exec(ctx, tx)
			return err
		}},
}

// putEffects registers the effects that the new cell does not have, and cancels them. It registers
// them as pending first, because every new effect must be pending.
func putEffects(ctx context.Context, m *Moves, tx pgx.Tx, args putArgs, fromCell string) error {
	rows, err := m.sql.PutEffects.With(args).Query(ctx, tx)
	if err != nil {
		return err
	}
	added, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(added) == 0 {
		return err
	}
	_, err = m.sql.CancelEffects.With(cancelEffects{FromCell: fromCell, Contents: array(added)}).Exec(ctx, tx)
	return err
}

// array joins JSON values into a JSON array.
func array(values []string) string { return "[" + strings.Join(values, ",") + "]" }

// page contains the rows of a table that one statement returned.
type page struct {
	contents []string // only of the rows that the move needs
	last     string   // position of the last row
	rows     int      // number of all rows
}

// read returns the page of a table after a position.
func (m *Moves) read(ctx context.Context, t table, source identity.Source, after string) (page, error) {
	rows, err := t.page(m, pageArgs{Source: source, After: after, Limit: pageRows}).Query(ctx, pipeline.ByIndex{Sender: m.opts.ReadPool, InOrder: true})
	if err != nil {
		return page{}, fmt.Errorf("read %s: %w", t.name, err)
	}
	var p page
	var content *string
	if _, err := pgx.ForEachRow(rows, []any{&p.last, &content}, func() error {
		p.rows++
		if content != nil {
			p.contents = append(p.contents, *content)
		}
		return nil
	}); err != nil {
		return page{}, fmt.Errorf("read %s: %w", t.name, err)
	}
	return p, nil
}

// noted contains rows that were written since the move began: their contents by table, and their
// ids.
type noted struct {
	contents map[string][]string
	ids      []int64
}

// readNoted returns the oldest noted rows, at most pageRows.
func (m *Moves) readNoted(ctx context.Context, source identity.Source) (noted, error) {
	rows, err := m.sql.NotedRows.With(notedRows{Source: source, Limit: pageRows}).Query(ctx, pipeline.ByIndex{Sender: m.opts.ReadPool, InOrder: true})
	if err != nil {
		return noted{}, fmt.Errorf("read noted rows: %w", err)
	}
	n := noted{contents: map[string][]string{}}
	var id int64
	var name, content string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name, &content}, func() error {
		n.ids = append(n.ids, id)
		n.contents[name] = append(n.contents[name], content)
		return nil
	}); err != nil {
		return noted{}, fmt.Errorf("read noted rows: %w", err)
	}
	return n, nil
}
