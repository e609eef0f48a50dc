package bench

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

//go:embed query/statements.sql
var statementsSQL string

// profiled is the maximum number of statement kinds in a profile.
const profiled = 15

// profileTurn reports where Postgres spends its time in a full lifecycle and in a drain. Its rates
// are lower than in other scenarios, because the server spends time on counting each statement.
func profileTurn(ctx context.Context, b *bench) error {
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{Settings: map[string]string{
		"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top",
	}})
	if err != nil {
		return err
	}
	if err := b.playLife(ctx, living, database{server: server}, func(s *scene, client *load.Client) error { return s.profile(ctx, client, b.sizes.data) }); err != nil {
		return err
	}
	return b.playLife(ctx, living, database{server: server}, func(s *scene, client *load.Client) error { return s.profileBacklog(ctx, client, b.opts.Backlog) })
}

// profile runs n lifecycles and reports the cost of their statements.
func (s *scene) profile(ctx context.Context, client *load.Client, n int) error {
	if err := s.countStatements(ctx); err != nil {
		return err
	}
	if err := s.live(ctx, client, n, report.SectionProfiled, report.WholeLife); err != nil {
		return err
	}
	return s.reportStatements(ctx, "", n)
}

// countStatements makes the server count statements from now on.
func (s *scene) countStatements(ctx context.Context) error {
	for _, statement := range []string{"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "SELECT pg_stat_statements_reset()"} {
		if _, err := s.watch.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// profileBacklog drains n effects and reports the cost of the drain's statements.
func (s *scene) profileBacklog(ctx context.Context, client *load.Client, n int) error {
	run, _, _, err := s.sendWhileDown(ctx, client, n)
	if err != nil {
		return err
	}
	if err := s.countStatements(ctx); err != nil {
		return err
	}
	if _, err := s.allDone(ctx, run.Began, n); err != nil {
		return err
	}
	came, _ := s.bench.receiver.seen()
	s.bench.report.Add(report.SectionProfiled, report.WholeLife, report.Rate, middle(came))
	return s.reportStatements(ctx, "backlog: ", n)
}

// reportStatements reports the cost per event of the statement kinds that took the most time. The
// parameter n is the number of events that caused the statements.
func (s *scene) reportStatements(ctx context.Context, when string, n int) error {
	costs, err := s.statements(ctx)
	if err != nil {
		return err
	}
	for _, c := range costs[:min(profiled, len(costs))] {
		perEvent := func(q report.Quantity, sum float64) {
			s.bench.report.Add(report.SectionProfile, when+c.what, q, sum/float64(n))
		}
		perEvent(report.Calls, c.calls)
		perEvent(report.StatementTime, 1000*c.milliseconds)
		perEvent(report.Buffers, c.buffers)
		perEvent(report.WAL, c.wal)
	}
	return nil
}

// statementCost is the cost of the statements of one kind.
type statementCost struct {
	what                              string
	calls, milliseconds, buffers, wal float64
}

// statements returns the kinds of statement that other sessions ran, in descending order of
// total time.
func (s *scene) statements(ctx context.Context) ([]statementCost, error) {
	rows, err := s.watch.Query(ctx, statementsSQL)
	if err != nil {
		return nil, fmt.Errorf("query the statements: %w", err)
	}
	byKind := map[string]*statementCost{}
	var text string
	var one statementCost
	if _, err := pgx.ForEachRow(rows, []any{&text, &one.calls, &one.milliseconds, &one.buffers, &one.wal}, func() error {
		if looksOn(text) {
			return nil
		}
		what := kindOf(text)
		sum := byKind[what]
		if sum == nil {
			sum = &statementCost{what: what}
			byKind[what] = sum
		}
		sum.calls, sum.milliseconds = sum.calls+one.calls, sum.milliseconds+one.milliseconds
		sum.buffers, sum.wal = sum.buffers+one.buffers, sum.wal+one.wal
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read statements: %w", err)
	}
	var costs []statementCost
	for _, sum := range byKind {
		costs = append(costs, *sum)
	}
	slices.SortFunc(costs, func(a, b statementCost) int { return cmp.Compare(b.milliseconds, a.milliseconds) })
	return costs, nil
}

// looksOn reports whether a statement is one of the bench's own. It compares only the text before
// the first string constant, because pg_stat_statements replaces constants with parameters such as
// $1.
func looksOn(text string) bool {
	for _, own := range []string{
		unfinishedSQL, doneSQL, "SELECT pg_current_wal_flush_lsn()", "SELECT pg_wal_lsn_diff(", "SELECT coalesce(sum(fpi_size)",
		"CREATE EXTENSION", "SELECT pg_stat_statements_reset()",
	} {
		before, _, _ := strings.Cut(own, "'")
		if strings.HasPrefix(text, strings.TrimSpace(before)) {
			return true
		}
	}
	return false
}

var (
	writes = regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM) +(?:(?:"?hooklatch"?)\.)?"?(\w+)"?`)
	reads  = regexp.MustCompile(`FROM +(?:(?:"?hooklatch"?)\.)?"?(\w+)"?`)
	begins = regexp.MustCompile(`WITH (?:RECURSIVE )?(\w+)`)
)

// kindOf describes a statement by the tables that it writes. If it writes none, kindOf uses the
// first table that it reads, or else its first word. It adds the name of the first common table
// expression, which distinguishes River's statements.
func kindOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var said []string
	for _, found := range writes.FindAllStringSubmatch(text, -1) {
		if found[2] == "SET" || found[2] == "SKIP" || found[2] == "OF" { // ON CONFLICT DO UPDATE SET, FOR UPDATE SKIP LOCKED
			continue
		}
		if what := strings.Fields(found[1])[0] + " " + found[2]; !slices.Contains(said, what) {
			said = append(said, what)
		}
	}
	kind := strings.Join(said, ", ")
	if kind == "" {
		if found := reads.FindStringSubmatch(text); found != nil {
			kind = "reads " + found[1]
		} else {
			kind, _, _ = strings.Cut(text, " ")
		}
	}
	if part := begins.FindStringSubmatch(text); part != nil {
		kind += " (" + part[1] + ")"
	}
	return kind
}
