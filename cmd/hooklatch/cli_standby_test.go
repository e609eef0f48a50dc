package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestCommandsThatListReadFromTheStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t, pgtest.Own())
	follower, at := pgtest.Standby(t, primary)
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "database: {url: %q, read_url: %q, allow: [fsync_off]}\n", pgtest.URL(t, primary), at), 0o600))
	box, err := outbox.New(outbox.Options{Pool: primary, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	accept := func(id identity.EventID) {
		t.Helper()
		_, err := box.Accept(t.Context(), outbox.Delivery{Source: "stripe", Provider: "stripe", Body: []byte("{}"), Events: []outbox.Incoming{{ID: id, Type: "invoice.paid"}}})
		require.NoError(t, err)
	}
	reading := func(args ...string) (stdout, stderr string) {
		t.Helper()
		c := clitest.Command{Env: map[string]string{"DATABASE_URL": pgtest.URL(t, primary)}} // equals the URL in the file, so it overrides nothing
		require.Zero(t, c.Run(t.Context(), append(args, "--config", path)...), c.Stderr.String())
		return c.Stdout.String(), c.Stderr.String()
	}
	accept("evt_1")
	for _, args := range [][]string{{"events", "list"}, {"events", "show", "stripe", "evt_1"}, {"effects", "list"}, {"find", "evt_1"}, {"audit"}, {"runs", "list"}, {"routes", "list"}} {
		require.Eventually(t, func() bool {
			_, stderr := reading(args...)
			return stderr == "Read from the standby, 0.0 s behind the primary.\n" || args[0] == "find" && len(stderr) > 0
		}, clitest.Patience, clitest.Tick, args)
	}
	require.Eventually(t, func() bool {
		checked, _ := reading("check")
		return strings.Contains(checked, "Read from the standby")
	}, clitest.Patience, clitest.Tick)

	other := clitest.Command{Env: map[string]string{"DATABASE_URL": pgtest.URL(t, primary) + "&application_name=other"}}
	require.Zero(t, other.Run(t.Context(), "events", "list", "--config", path), other.Stderr.String())
	require.Empty(t, other.Stderr.String(), "another URL overrides read_url")
	require.Zero(t, other.Run(t.Context(), "check", "--config", path), other.Stderr.String())
	require.Contains(t, other.Stdout.String(), "database.read_url: is not used")
	require.NotContains(t, other.Stdout.String(), "Read from the standby")

	onStandby, err := pgxpool.New(t.Context(), at)
	require.NoError(t, err)
	t.Cleanup(onStandby.Close)
	_, err = onStandby.Exec(t.Context(), "SELECT pg_wal_replay_pause()")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var paused bool
		err := onStandby.QueryRow(t.Context(), "SELECT pg_get_wal_replay_pause_state() = 'paused'").Scan(&paused)
		return err == nil && paused
	}, clitest.Patience, clitest.Tick)
	accept("evt_2")
	require.Eventually(t, func() bool { // a busy standby does not answer in time
		listed, note := reading("events", "list")
		return !strings.Contains(listed, "evt_2") && regexp.MustCompile(`^Read from the standby, \d+\.\d s behind the primary\.\n$`).MatchString(note)
	}, clitest.Patience, clitest.Tick)
	require.Eventually(t, func() bool {
		shown, note := reading("events", "show", "stripe", "evt_2")
		require.Contains(t, shown, "evt_2")
		return note == "Read from the primary: the standby could not answer.\n"
	}, clitest.Patience, clitest.Tick)

	pgtest.Kill(follower)
	listed, note := reading("events", "list")
	require.Contains(t, listed, "evt_2")
	require.Equal(t, "Read from the primary: the standby does not answer.\n", note)
	checked, _ := reading("check")
	require.Regexp(t, `warn  read_url .* the standby does not answer`, checked)
}
