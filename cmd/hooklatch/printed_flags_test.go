package main_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// withoutPassword returns the connection URL of a test database without its password, and the
// password.
func withoutPassword(t *testing.T, database string) (bare, password string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	password, _ = u.User.Password()
	u.User = url.User(u.User.Username())
	return u.String(), password
}

// A command that prints commands repeats its --config and --database-url in them, without the
// password.
func TestPrintedCommandsRepeatTheFlags(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for _, id := range []string{"id-1", "id-2", "id-3"} {
		clitest.Must(t, s.Args("send", "github", "--id", id)...)
		s.WaitDone(t, "github", id)
	}
	require.NoError(t, s.App.Stop(t.Context()))
	sql := func(statements ...string) {
		t.Helper()
		for _, one := range statements {
			_, err := s.Pool.Exec(t.Context(), one)
			require.NoError(t, err)
		}
	}
	sql(`SET session_replication_role = replica;
		UPDATE hooklatch.effects SET state = 'failed';
		DELETE FROM hooklatch.effects WHERE event_id = 'id-2';
		RESET session_replication_role`,
		`UPDATE hooklatch.processed_events SET outcome = 'held' WHERE event_id = 'id-2'`)
	key := s.Text(t, `SELECT idempotency_key FROM hooklatch.effects LIMIT 1`)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	body := file("body.json", "{}")
	written, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	changed := file("changed.yaml", strings.Replace(string(written), "name: everything", "name: all", 1))
	broken := file("broken.yaml", string(written)+"  - {name: broken, from: \"*\", to: app, when: \"body.data >\"}\n")
	missing := filepath.Join(t.TempDir(), "its own.yaml")
	full, empty := pgtest.URL(t, s.Pool), pgtest.URL(t, pgtest.New(t, pgtest.Empty()))

	prints := func(config, database string, args ...string) {
		t.Helper()
		given, password := cells.Flags{Config: config}, ""
		args = append(args, "--config", config)
		if database != "" {
			args = append(args, "--database-url", database)
			given.DatabaseURL, password = withoutPassword(t, database)
		}
		var c clitest.Command
		require.NotEqual(t, cli.ExitMisused, c.Run(t.Context(), args...), "%s: %s", args, c.Stderr.String())
		out := c.Stdout.String() + c.Stderr.String()
		if password != "" {
			require.NotContains(t, out, password, args)
		}
		require.Contains(t, out, " --config "+safetext.Shell(config), args)
		require.Equal(t, given.AddTo(out), out, args)
	}
	for _, args := range [][]string{
		{"check"}, {"check", "--json"}, {"status"}, {"status", "--json"}, {"find", "id-1"},
		{"events", "list", "--limit", "1"}, {"events", "show", "github", "id-2"}, {"effects", "list", "--limit", "1"},
		{"effects", "resend", key, "--body", body, "--reason", "it was empty"},
		{"effects", "retry", "--state", "failed"}, {"effects", "retry", "--state", "failed", "--json"},
		{"effects", "retry", "--state", "failed", "--yes", "--detach"}, {"runs", "show", "99"}, {"runs", "pause", "99"},
		{"destinations", "pause", "nobody"}, {"destinations", "retire", "nobody"}, {"logins", "end", "nobody"},
		{"routes", "show", "none"}, {"routes", "diff", changed, "--limit", "1"},
	} {
		prints(s.ConfigPath, full, args...)
	}
	clitest.Must(t, s.Args("destinations", "pause", "app")...)
	prints(s.ConfigPath, full, "destinations", "probe", "app")
	prints(s.ConfigPath, full, "audit", "--limit", "1")
	prints(broken, full, "check")
	prints(broken, full, "events", "show", "github", "id-1")
	prints(missing, "", "init", "add", "github")

	sql(`UPDATE hooklatch.installation SET timeline = 0`)
	for _, args := range [][]string{{"repair"}, {"repair", "--promoted"}, {"repair", "--restored-to", "2026-11-21T08:00:00Z"}, {"check"}, {"status"}} {
		prints(s.ConfigPath, full, args...)
	}
	sql(`DELETE FROM hooklatch.retention_progress`,
		`UPDATE hooklatch.processed_events SET outcome = 'dispatched', received_at = now() - interval '200 days', processed_at = now() - interval '200 days'`)
	prints(s.ConfigPath, full, "retention", "run")

	served := clitest.WriteServedConfig(t, empty)
	for _, args := range [][]string{{"check"}, {"events", "list"}, {"worker"}, {"serve"}} {
		prints(served, empty, args...)
	}
}

// A command printed by hooklatch check works in the directory in which the check was run. It works
// there even if the directory has a configuration for another database.
func TestACommandOfCheckWorksWhereCheckWasRun(t *testing.T) {
	pool := pgtest.New(t, pgtest.Empty())
	database := pgtest.URL(t, pool)
	bare, password := withoutPassword(t, database)
	elsewhere := filepath.Join(t.TempDir(), "its own.yaml")
	require.NoError(t, os.WriteFile(elsewhere, []byte(`database: {url: "postgres://postgres@127.0.0.1:1/none", schema: apart}`+"\n"), 0o600))
	here := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(here, "hooklatch.yaml"), []byte(`database: {url: "postgres://postgres@127.0.0.1:1/none"}`+"\n"), 0o600))
	t.Chdir(here)
	t.Setenv("PGPASSWORD", password) // the printed command omits it

	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "check", "--config", elsewhere, "--database-url", database))
	_, fix, found := strings.Cut(c.Stdout.String(), "-> run: hooklatch ")
	require.True(t, found, c.Stdout.String())
	fix, _, _ = strings.Cut(fix, "\n")
	require.Contains(t, fix, safetext.Shell(bare))
	require.Contains(t, clitest.Must(t, clitest.ShellWords(t, fix)...), "up    hooklatch 0001_inbox")
	var tables int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'apart' AND tablename = 'effects'").Scan(&tables))
	require.Equal(t, 1, tables, "the migrations are in the configured schema")
}
