package upgrade

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
)

//go:embed query/unfinished.sql
var unfinishedSQL string

//go:embed query/stored.sql
var storedSQL string

//go:embed query/effects.sql
var effectsSQL string

// settle waits at most Options.Patience until all work is done. It adds lost, doubled and
// unfinished work to the report, and a failure of `hooklatch check`.
func (r *run) settle(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, r.opts.Patience)
	defer cancel()
	for {
		unfinished, err := r.texts(ctx, unfinishedSQL)
		if err != nil {
			return err
		}
		if len(unfinished) == 0 {
			break
		}
		if retry.Wait(waiting, time.Second/4) != nil {
			r.foundf("unfinished after %s: %s", r.opts.Patience, strings.Join(unfinished, "; "))
			break
		}
	}
	stored, err := r.texts(ctx, storedSQL)
	if err != nil {
		return err
	}
	times := map[string]int{}
	for _, id := range stored {
		times[id]++
	}
	lost := 0
	for _, id := range r.acked {
		if times[id] == 0 {
			lost++
		}
	}
	var effects, done int
	if err := r.pool.QueryRow(ctx, effectsSQL).Scan(&effects, &done); err != nil {
		return fmt.Errorf("count the effects: %w", err)
	}
	called, again := r.receiver.counts()
	r.stage.Sayf("%d events acknowledged, %d stored; %d effects, %d done, %d called", len(r.acked), len(times), effects, done, called)
	for what, n := range map[string]int{
		"acknowledged events were lost":                     lost,
		"events were stored twice":                          len(stored) - len(times),
		"events have no effect":                             max(len(times)-effects, 0),
		"effects are not done":                              effects - done,
		"done effects did not call":                         max(done-called, 0),
		"calls were repeated":                               again,
		"events are stored that no sender has acknowledged": max(len(times)-len(r.acked), 0),
	} {
		if n != 0 {
			r.foundf("%d %s", n, what)
		}
	}
	if err := r.command(ctx, r.opts.Binaries.Current, "check"); err != nil {
		r.foundf("%v", err)
	}
	return nil
}

// texts returns the rows of a query.
func (r *run) texts(ctx context.Context, sql string) ([]string, error) {
	rows, err := r.pool.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read the work: %w", err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the work: %w", err)
	}
	return texts, nil
}

func (r *run) foundf(format string, args ...any) {
	r.report.Found = append(r.report.Found, fmt.Sprintf(format, args...))
}

// logSuffix ends the names of the processes' logs.
const logSuffix = ".log"

// readLogs adds the errors that the processes logged to the report.
func (r *run) readLogs() error {
	logs, err := filepath.Glob(filepath.Join(r.stage.Dir, "*"+logSuffix+"*"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("there are no logs in %s", r.stage.Dir)
	}
	for _, log := range logs {
		times, err := errorsIn(log)
		if err != nil {
			return fmt.Errorf("read the log of a process: %w", err)
		}
		for _, text := range slices.Sorted(maps.Keys(times)) {
			r.foundf("%s: %d times %s", filepath.Base(log), times[text], text)
		}
	}
	return nil
}

// unknownThing is the class of Postgres' errors for tables, columns and functions that do not
// exist, and for missing privileges. Processes log some of these errors as warnings, because they
// retry.
const unknownThing = "(SQLSTATE 42"

// errorsIn returns how often a log has each error.
func errorsIn(log string) (times map[string]int, err error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	times = map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Level, Msg, Err string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			line.Level, line.Msg = "ERROR", lines.Text() // the line is not JSON, such as a line of a panic
		}
		if line.Level == "ERROR" || strings.Contains(line.Err, unknownThing) {
			times[fmt.Sprintf("%s: %s: %s", line.Level, line.Msg, line.Err)]++
		}
	}
	return times, lines.Err()
}
