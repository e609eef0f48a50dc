package pgtest_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// childEnv makes this test binary run one of the tests that need a separate process. Without it,
// these tests are skipped.
const childEnv = "PGTEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "without main" {
		os.Exit(m.Run())
	}
	os.Exit(pgtest.Main(m))
}

// child returns the command that runs one test in a separate process.
func child(t *testing.T, test, mode string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), childEnv+"="+mode, "TEST_DATABASE_URL="), env...)
	return cmd
}

func onlyInChild(t *testing.T, mode string) {
	t.Helper()
	if os.Getenv(childEnv) != mode {
		t.Skip("runs in a separate process that another test starts")
	}
}

func TestChildUsesOneDatabase(t *testing.T) {
	t.Parallel()
	if os.Getenv(childEnv) == "" {
		t.Skip("runs in a separate process that another test starts")
	}
	pool := pgtest.New(t)
	var ahead int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT hooklatch.delivery_days_ahead()").Scan(&ahead))
	require.Positive(t, ahead)
}

// A package without TestMain still gets its server, which dies with the process.
func TestNewWithoutMain(t *testing.T) {
	t.Parallel()
	out, err := child(t, "TestChildUsesOneDatabase", "without main").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestChildUsesOneDatabase")
}

func TestChildFails(t *testing.T) {
	t.Parallel()
	onlyInChild(t, "fail")
	pgtest.New(t)
	t.Fail()
}

func TestChildLeaksGoroutine(t *testing.T) {
	t.Parallel()
	onlyInChild(t, "leak")
	go func() { select {} }()
}

func TestMainReportsLeaks(t *testing.T) {
	t.Parallel()
	out, err := child(t, "TestChildLeaksGoroutine", "leak").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "found unexpected goroutines")
}

func TestMainWithoutPostgresSaysWhatToDo(t *testing.T) {
	t.Parallel()
	out, err := child(t, "TestChildUsesOneDatabase", "x", embedded.BinariesEnv+"=/nowhere").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL: TestChildUsesOneDatabase")
	require.Contains(t, string(out), embedded.BinariesEnv+"=/nowhere cannot be used")
}

// A failed test's database can be examined until Ctrl-C.
func TestKeepForReader(t *testing.T) {
	t.Parallel()
	cmd := child(t, "TestChildFails", "fail", "HOOKLATCH_PGTEST_KEEP=1")
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(errs)
	var url string
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), `psql "`)
	}
	conn, err := pgx.Connect(t.Context(), strings.TrimSuffix(url, `"`))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT FROM hooklatch.deliveries")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait(), "the test has failed")
}

// Several test binaries share TEST_DATABASE_URL's server and its template.
func TestServerOfTheEnvironment(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), embedded.Options{})
	require.NoError(t, err)
	defer server.Stop(context.Background())
	url := server.URL("postgres")
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	const old = "hooklatch_template_20200101_0123456789abcdef"
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+old+" IS_TEMPLATE true")
	require.NoError(t, err)

	var running []*exec.Cmd
	for range 3 {
		cmd := child(t, "TestChildUsesOneDatabase", "x", "TEST_DATABASE_URL="+url)
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		require.NoError(t, cmd.Wait())
	}
	databases := func(named string) []string {
		rows, err := conn.Query(t.Context(), "SELECT datname::text FROM pg_database WHERE datname ~ $1 ORDER BY 1", named)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return names
	}
	const ofTests = "^t_"
	require.Empty(t, databases(ofTests))
	templates := databases("^hooklatch_")
	require.NotContains(t, templates, old)
	require.LessOrEqual(t, len(templates), 2, "each day has one template, and midnight may pass: %v", templates)
	require.Regexp(t, `^hooklatch_template_\d{8}_[0-9a-f]{16}$`, templates[0])

	require.Error(t, child(t, "TestChildFails", "fail", "TEST_DATABASE_URL="+url).Run())
	require.Len(t, databases(ofTests), 1, "the database of a failed test is kept")
	require.NoError(t, conn.Close(t.Context()))
}
