package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure an Archive.
type Options struct {
	Storage  Storage       // holds the files. Required.
	DB       *commit.DB    // commits the record of valid files. Required.
	ReadPool *pgxpool.Pool // for reads outside transactions, on the same database. Required.
	Schema   schema.Name   // holds the tables. Defaults to schema.Default.
	Logger   *slog.Logger  // defaults to a logger that discards everything
}

// Archive is the export of one database. It is safe for concurrent use.
type Archive struct {
	storage Storage
	db      *commit.DB
	read    *pgxpool.Pool
	sql     statements
	logger  *slog.Logger

	mu        sync.Mutex
	manifests map[string]*Manifest // by name; each name is used only once
	verified  map[string]bool      // names of the parts that an unfinished verification has read back
	left      *walk                // the walk that was interrupted before its end; nil: none
	search    search               // the last search of allEventsOf
}

// manifestsKept is the number of manifests that an Archive remembers.
const manifestsKept = 500

// New returns an Archive on a migrated database. It starts nothing.
func New(opts Options) (*Archive, error) {
	if opts.Storage == nil || opts.DB == nil || opts.ReadPool == nil {
		return nil, errors.New("export options: Storage, DB and ReadPool are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	logger := cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Archive{storage: newBounded(opts.Storage, logger), db: opts.DB, read: opts.ReadPool, sql: sql, logger: logger, manifests: map[string]*Manifest{}, verified: map[string]bool{}}, nil
}

// Storage returns the storage that holds the files.
func (a *Archive) Storage() Storage { return a.storage }

// look returns a statement.DB for statements that look up rows.
func (a *Archive) look() pipeline.ByIndex { return pipeline.ByIndex{Sender: a.read} }

// Day is the state of one day of the export.
type Day struct {
	Day         time.Time // 00:00 UTC
	Manifest    string    // name of the valid manifest; empty: the day is unfinished
	FailedSince time.Time // zero: the last export or erasure of the day succeeded
	Error       string    // why the last export or erasure failed

	begunAt time.Time // changes when a process sweeps the day or changes its manifest
	parts   []Part    // parts that an unfinished day has so far
	sum     []byte    // SHA-256 of the manifest
	garbage []string
}

// Name returns the day in the form that its file names begin with, such as 2026-11-01.
func (d Day) Name() string { return d.Day.Format(time.DateOnly) }

func (d Day) span() span { return span{From: d.Day, Until: d.Day.AddDate(0, 0, 1)} }

// Days lists the days of the export, newest first.
func (a *Archive) Days(ctx context.Context) ([]Day, error) {
	rows, err := a.sql.Days.Query(ctx, a.look())
	if err != nil {
		return nil, fmt.Errorf("list exported days: %w", err)
	}
	days, err := pgx.CollectRows(rows, scanDay)
	if err != nil {
		return nil, fmt.Errorf("list exported days: %w", err)
	}
	return days, nil
}

// day reads a day. It reports false if the day is not in the export.
func (a *Archive) day(ctx context.Context, day time.Time) (Day, bool, error) {
	rows, err := a.sql.Day.With(oneDay{day}).Query(ctx, a.look())
	if err != nil {
		return Day{}, false, fmt.Errorf("read exported day: %w", err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDay)
	if errors.Is(err, pgx.ErrNoRows) {
		return Day{}, false, nil
	}
	if err != nil {
		return Day{}, false, fmt.Errorf("read exported day: %w", err)
	}
	return d, true, nil
}

func scanDay(row pgx.CollectableRow) (Day, error) {
	var d Day
	var failed *time.Time
	err := row.Scan(&d.Day, &d.begunAt, &d.parts, &d.Manifest, &d.sum, &d.garbage, &failed, &d.Error)
	if failed != nil {
		d.FailedSince = *failed
	}
	return d, err
}

// errOther is returned when another process has changed the day.
var errOther = errors.New("another process works on this day of the export")

// unchanged returns errOther if another process has changed the day since d was read.
func (a *Archive) unchanged(ctx context.Context, d Day) error {
	now, _, err := a.day(ctx, d.Day)
	if err == nil && (now.Manifest != d.Manifest || !now.begunAt.Equal(d.begunAt)) {
		err = errOther
	}
	return err
}

// change calls run in a transaction to change a day's row. If run changes no row, change returns
// errOther.
func (a *Archive) change(ctx context.Context, run func(ctx context.Context, tx pgx.Tx) (changed int64, err error)) error {
	return a.db.Do(ctx, "export_day", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		n, err := run(ctx, tx)
		if err == nil && n == 0 {
			err = errOther
		}
		return err
	})
}

// put notes the names of new files in exported_days, and then writes the files. The names stay
// noted until a valid manifest lists the files, or the files are deleted. If another process has
// changed the day, put deletes the files and returns errOther.
func (a *Archive) put(ctx context.Context, d Day, files map[string][]byte) error {
	names := slices.Collect(maps.Keys(files))
	err := a.reserve(ctx, d, names)
	if err == nil {
		err = a.putAll(ctx, files)
		// A sweep may have tried to delete a file before it was written, and then have forgotten
		// its name.
		err = errors.Join(err, a.reserve(ctx, d, names))
	}
	if errors.Is(err, errOther) {
		err = errors.Join(err, a.remove(ctx, d.Day, names))
	}
	return err
}

// reserve notes names of files. It returns errOther if another process has changed the day since d
// was read. The names are noted nevertheless.
func (a *Archive) reserve(ctx context.Context, d Day, names []string) error {
	same := false
	err := a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return rowOf(a.sql.ReserveNames.With(reserveNames{d.Day, d.begunAt, names}).QueryRow(ctx, tx).Scan(&same))
	})
	if err == nil && !same {
		err = errOther
	}
	if err != nil {
		return fmt.Errorf("note the names of files: %w", err)
	}
	return nil
}

// rowOf returns 0 if err means that a Scan found no row. Otherwise it returns 1 and err.
func rowOf(err error) (int64, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return 1, err
}

func (a *Archive) putAll(ctx context.Context, files map[string][]byte) error {
	for name, content := range files {
		if err := a.storage.Put(ctx, name, content); err != nil {
			return fmt.Errorf("write %s to %s: %w", name, a.storage, err)
		}
	}
	return nil
}

// sweep deletes a finished day's files that no valid manifest lists. Processes that are writing
// some of these files then fail with errOther.
func (a *Archive) sweep(ctx context.Context, day time.Time) error {
	d, there, err := a.day(ctx, day)
	if err != nil || !there || d.Manifest == "" || len(d.garbage) == 0 {
		return err
	}
	var names []string
	err = a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return rowOf(a.sql.TakeGarbage.With(oneDay{day}).QueryRow(ctx, tx).Scan(&names))
	})
	if err != nil {
		return fmt.Errorf("list files to delete: %w", err)
	}
	return a.remove(ctx, day, names)
}

// remove deletes files that no manifest will list, and then forgets their names.
func (a *Archive) remove(ctx context.Context, day time.Time, names []string) error {
	for _, name := range names {
		if err := a.storage.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete %s from %s: %w", name, a.storage, err)
		}
	}
	err := a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		tag, err := a.sql.ClearGarbage.With(namesOfDay{day, names}).Exec(ctx, tx)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return fmt.Errorf("note deleted files: %w", err)
	}
	return nil
}

// inOrder returns a statement.DB for statements that read the first rows in index order.
func (a *Archive) inOrder() pipeline.ByIndex {
	return pipeline.ByIndex{Sender: a.read, InOrder: true}
}
