package outbox

import (
	"bufio"
	"context"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The tables have fewRows rows when a plan is made, and manyRows when the plan is used. A cost that
// is equal at both sizes does not grow with the tables.
const (
	fewRows  = 64
	manyRows = 20_000
	longEnv  = "HOOKLATCH_LONG" // if this variable is set, the tables have 200,000 rows
)

// The number of pages that a Hooklatch statement reads is proportional to the rows it requests,
// whatever statistics Postgres has. testdata/plans/bounds.txt contains the limit for each
// statement. A plan kept since the tables had few rows is the worst case. It is common, because a
// pool's connections stay open for a long time. Postgres compiles no statement (JIT). It plans the
// statements of events and effects on their way once per connection, not at each execution.
func TestStatementsReadOnlyWhatTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, analyse := range map[string]struct{ few, meanwhile string }{
		"never analysed":         {},
		"analysed when few rows": {few: `VACUUM ANALYZE`},
		// Uncommitted rows are not counted, but occupy pages. Autovacuum may analyse a table in
		// that state.
		"analysed while many came": {meanwhile: `ANALYZE`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlans(t)
			p.fill(t, 1, fewRows)
			p.exec(t, analyse.few)
			early := p.connect(t, "force_generic_plan")
			early.steps(t) // makes the plans
			p.fill(t, fewRows+1, p.rows, analyse.meanwhile)
			p.check(t, "kept", early)
			p.check(t, "generic", p.connect(t, "force_generic_plan"))
			p.check(t, "custom", p.connect(t, "force_custom_plan"))
			p.exec(t, `VACUUM ANALYZE`)
			p.check(t, "generic, analysed", p.connect(t, "force_generic_plan"))
			p.check(t, "custom, analysed", p.connect(t, "force_custom_plan"))
		})
	}
}

// plans is a database on which a test examines the plans of Hooklatch's statements.
type plans struct {
	admin  *pgxpool.Pool
	rows   int
	names  explained.Names
	bounds map[string]float64 // maximum number of pages per requested row, by statement
	passes int
}

func newPlans(t *testing.T) *plans {
	t.Helper()
	p := &plans{admin: pgtest.New(t), rows: manyRows, names: explained.Names{
		// These statements are not in files of this package.
		"begin":      "BEGIN ",
		"settings":   "SELECT\n\tset_config('synchronous_commit'",
		"by_indexes": "SELECT set_config('enable_seqscan'",
		"river":      "-- name: ",
		// These statements are in a trigger.
		"is_settled":        "EXISTS (\n            SELECT\n            FROM hooklatch.attempts",
		"record_lost":       "INSERT INTO hooklatch.attempts (\n            effect_id",
		"record_transition": "INSERT INTO hooklatch.transitions",
		// This statement is in a function.
		"this_server": "SELECT c.system_identifier",
	}}
	if !explained.Available(t.Context(), p.admin) {
		t.Skip("this build of Postgres has no auto_explain")
	}
	if os.Getenv(longEnv) != "" {
		p.rows = 10 * manyRows
	}
	for _, folder := range []string{"query", "ledger/query", "inbox/query", "fleet/query", "../internal/riverjob/query", "find/query"} {
		require.NoError(t, p.names.Read(os.DirFS(folder)))
	}
	p.names["event_place"] = "WITH RECURSIVE span AS (" // its file contains only a fragment
	p.bounds = readBounds(t, os.DirFS("testdata/plans"))
	for _, name := range slices.Concat(slices.Collect(maps.Keys(p.bounds)), onTheWay) {
		require.Contains(t, p.names, name)
	}
	return p
}

// readBounds reads lines of three parts: a statement, the number of pages it may read for each
// requested row, and a comment. "any" is the limit for a statement that reads a whole table.
func readBounds(t *testing.T, files fs.FS) map[string]float64 {
	t.Helper()
	file, err := files.Open("bounds.txt")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	bounds := map[string]float64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		require.NotContains(t, bounds, words[0])
		pages := math.Inf(1)
		if words[1] != "any" {
			pages, err = strconv.ParseFloat(words[1], 64)
			require.NoError(t, err, line)
		}
		bounds[words[0]] = pages
	}
	return bounds
}

func (p *plans) exec(t *testing.T, sql string) {
	t.Helper()
	_, err := p.admin.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// fill creates events and their results. Before they are committed, another connection runs the
// given statements.
func (p *plans) fill(t *testing.T, first, last int, meanwhile ...string) {
	t.Helper()
	text, err := os.ReadFile("testdata/plans/fill.sql")
	require.NoError(t, err)
	tx, err := p.admin.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), strings.NewReplacer(":first", strconv.Itoa(first), ":last", strconv.Itoa(last)).Replace(string(text)))
	require.NoError(t, err)
	for _, sql := range meanwhile {
		p.exec(t, sql)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// plannedBundle is an Outbox on a single connection. A test examines the plans of its statements.
type plannedBundle struct {
	*bundle

	of  *plans
	log *explained.Log
	ran map[string]cost
}

// cost is the highest number of pages per requested row that a statement has read, and the plan
// with which it read them.
type cost struct {
	pages float64
	jit   bool
	plan  string
}

func (p *plans) connect(t *testing.T, mode string) *plannedBundle {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(t, p.admin))
	require.NoError(t, err)
	config.MaxConns = 1 // a single connection keeps all plans
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = mode
	log := explained.Watch(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &plannedBundle{bundle: onPool(t, pool, func(o *Options) { o.Committers = 1 }), of: p, log: log}
}

// step runs f, which requests the given number of rows, and records how many pages each of its
// statements read.
func (b *plannedBundle) step(t *testing.T, rows int, f func(ctx context.Context) error) {
	t.Helper()
	b.walk(t, func(ctx context.Context) (int, error) { return rows, f(ctx) })
}

// walk is like step, but f reports the number of rows that it read.
func (b *plannedBundle) walk(t *testing.T, f func(ctx context.Context) (rows int, err error)) {
	t.Helper()
	rows, err := f(t.Context())
	require.NoError(t, err)
	ran, err := b.log.Take()
	require.NoError(t, err)
	read := map[string]cost{}
	for _, s := range ran {
		name := b.of.names.Of(s.Text)
		require.NotEmpty(t, name, "unknown statement: %s", s.Text)
		c := read[name]
		c.pages += float64(s.Buffers) / float64(rows)
		c.jit = c.jit || s.JIT
		c.plan += s.Plan + "\n"
		read[name] = c
	}
	for name, c := range read {
		if c.pages > b.ran[name].pages || c.jit {
			b.ran[name] = c
		}
	}
}

// check runs all steps and compares the pages they read with the bounds.
func (p *plans) check(t *testing.T, when string, b *plannedBundle) {
	t.Helper()
	b.steps(t)
	for _, name := range slices.Sorted(maps.Keys(b.ran)) {
		c := b.ran[name]
		t.Logf("%-20s %-24s %8.2f", when, name, c.pages)
		most, bounded := p.bounds[name]
		if !bounded {
			t.Errorf("%s: testdata/plans/bounds.txt does not say how many pages %s may read", when, name)
			continue
		}
		if c.pages > most {
			t.Errorf("%s: %s read %.0f pages for each requested row, more than %.0f:\n%s", when, name, c.pages, most, c.plan)
		}
		if c.jit {
			t.Errorf("%s: %s was compiled:\n%s", when, name, c.plan)
		}
	}
	rows, err := b.pool.Query(t.Context(), `SELECT statement FROM pg_prepared_statements WHERE custom_plans > 0`)
	require.NoError(t, err)
	again, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, text := range again {
		if name := p.names.Of(text); slices.Contains(onTheWay, name) {
			t.Errorf("%s: Postgres plans %s at each execution", when, name)
		}
	}
}

// onTheWay lists the statements that the life of a delivered event needs.
var onTheWay = []string{"accept", "accept_one", "accept_planned", "events", "deliveries_of", "fence", "create_effects", "insert_jobs", "claim", "settle"}

// atOnce runs f n times concurrently, so that group commits can batch the calls. It returns the
// first error.
func atOnce(n int, f func(i int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(i) }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// soon waits for a condition that background work makes true.
func soon(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, 2*time.Minute, 10*time.Millisecond)
}
