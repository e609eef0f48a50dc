package worker

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// archived is a database with a base backup, on a server that archives its WAL. Its pool follows
// the database to other servers, as a host name would.
type archived struct {
	server  *embedded.Server
	archive string
	pool    *pgxpool.Pool
	port    atomic.Int64 // port to which the pool connects
	backup  *embedded.Server
}

const archiving = "cp %%p %s/%%f"

func newArchived(t *testing.T) *archived {
	t.Helper()
	// The server may run as another account, which needs access to the archive.
	archive, err := os.MkdirTemp("/tmp", "hooklatch-archive-") //nolint:usetesting // t.TempDir is closed to other accounts
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(archive)) })
	require.NoError(t, os.Chmod(archive, 0o777))
	a := &archived{archive: archive}
	pool := pgtest.New(t, pgtest.Setting("wal_level", "replica"), pgtest.Setting("archive_mode", "on"),
		pgtest.Setting("archive_command", fmt.Sprintf(archiving, archive)))
	a.server = pgtest.Server(t, pool)
	a.follow(t, a.server)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	config.MaxConns = 20
	config.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		conn.Port = uint16(a.port.Load())
		return nil
	}
	commit.PreparePool(config)
	a.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(a.pool.Close)
	return a
}

// follow makes the pool connect to another server.
func (a *archived) follow(t *testing.T, server *embedded.Server) {
	t.Helper()
	at, err := url.Parse(server.URL("postgres"))
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(at.Host)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	a.port.Store(int64(port))
}

// on returns a connection to a server.
func (a *archived) on(t *testing.T, server *embedded.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL(a.pool.Config().ConnConfig.Database))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // the server may have stopped
	return conn
}

// takeBackup takes a base backup and keeps it for restore.
func (a *archived) takeBackup(t *testing.T) {
	t.Helper()
	conn := a.on(t, a.server)
	begin, end := a.server.BackupStatements()
	server, err := embedded.Start(t.Context(), embedded.Options{
		Settings: map[string]string{"wal_retrieve_retry_interval": "100ms"},
		Backup: &embedded.Backup{
			Of: a.server,
			Begin: func(ctx context.Context) error {
				_, err := conn.Exec(ctx, begin)
				return err
			},
			End: func(ctx context.Context) (map[string]string, error) {
				var label string
				if err := conn.QueryRow(ctx, end).Scan(&label); err != nil {
					return nil, err
				}
				_, err := conn.Exec(ctx, "SELECT pg_switch_wal()")
				return map[string]string{
					"backup_label": label, "standby.signal": "",
					"postgresql.auto.conf": fmt.Sprintf("restore_command = 'cp %s/%%f %%p'\n", a.archive),
				}, err
			},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, server.Abort(t.Context())) // the standby has started to follow; it gets later WAL when it is restored
	a.backup = server
}

// restore kills the server, and replaces it with the backup as of a given time.
func (a *archived) restore(t *testing.T, to time.Time) {
	t.Helper()
	conn := a.on(t, a.server)
	var segment string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_walfile_name(pg_switch_wal())").Scan(&segment))
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(a.archive, segment))
		return err == nil
	}, 2*time.Minute, 10*time.Millisecond, "the WAL is not archived")
	a.server.Kill()
	data := a.backup.DataDir()
	require.NoError(t, os.Remove(filepath.Join(data, "standby.signal")))
	require.NoError(t, os.WriteFile(filepath.Join(data, "recovery.signal"), nil, 0o644))
	settings := fmt.Sprintf("restore_command = 'cp %s/%%f %%p'\nrecovery_target_time = '%s'\nrecovery_target_action = 'promote'\n",
		a.archive, to.UTC().Format("2006-01-02 15:04:05.999999+00"))
	require.NoError(t, os.WriteFile(filepath.Join(data, "postgresql.auto.conf"), []byte(settings), 0o600))
	require.NoError(t, a.backup.Restart(t.Context()))
	restored := a.on(t, a.backup)
	require.Eventually(t, func() bool {
		var recovers bool
		return restored.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers
	}, 2*time.Minute, 10*time.Millisecond, "recovery does not end")
	a.follow(t, a.backup)
}

// A restored server reports its new timeline from its first statement. The control file has the last
// checkpoint's timeline, and shows the new timeline only much later.
func TestARestoredServerIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	a := newArchived(t)
	a.takeBackup(t)
	var before, after, known, checkpoint struct{ system, timeline int64 }
	ask := func(conn *pgx.Conn, from string, into *struct{ system, timeline int64 }) {
		t.Helper()
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT system_id, timeline FROM hooklatch."+from).Scan(&into.system, &into.timeline))
	}
	ask(a.on(t, a.server), "this_server()", &before)
	ask(a.on(t, a.server), "installation", &known)
	require.Equal(t, before, known)
	original := a.on(t, a.server)
	var now time.Time
	require.NoError(t, original.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
	_, err := original.Exec(t.Context(), "CREATE TABLE committed (n int)") // recovery to a time stops at the first later COMMIT
	require.NoError(t, err)
	a.restore(t, now)
	restored := a.on(t, a.backup)
	ask(restored, "this_server()", &after)
	ask(restored, "installation", &known)
	require.NoError(t, restored.QueryRow(t.Context(), "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()").
		Scan(&checkpoint.system, &checkpoint.timeline))
	require.Equal(t, before, known, "the table came from the backup")
	require.Equal(t, before.system, after.system)
	require.Equal(t, before.timeline+1, after.timeline)
	t.Logf("timeline %d, in the last checkpoint %d", after.timeline, checkpoint.timeline)
}

// dumpOf returns the path of a version's pg_dump. A newer pg_dump writes statements that an older
// server does not support, and an older pg_dump refuses to dump.
func dumpOf(t *testing.T, major int) string {
	t.Helper()
	for _, program := range []string{fmt.Sprintf("/usr/lib/postgresql/%d/bin/pg_dump", major), "pg_dump"} {
		version, err := exec.CommandContext(t.Context(), program, "--version").Output()
		if err != nil || !strings.Contains(string(version), fmt.Sprintf("(PostgreSQL) %d.", major)) {
			continue
		}
		path, err := exec.LookPath(program)
		require.NoError(t, err)
		return path
	}
	t.Skipf("pg_dump %d is not installed", major)
	return ""
}

// A database that was restored from a dump detects that its server has another identifier.
func TestADumpKnowsThatItIsElsewhere(t *testing.T) {
	t.Parallel()
	from := pgtest.New(t, pgtest.Own())
	major := pgtest.Server(t, from).Major()
	dump := dumpOf(t, major)
	text, err := exec.CommandContext(t.Context(), dump, "--schema=hooklatch", "--format=custom", "--dbname="+pgtest.URL(t, from)).Output()
	require.NoError(t, err)
	server, err := embedded.Start(t.Context(), embedded.Options{OwnIdentity: true, Version: strconv.Itoa(major)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	file := filepath.Join(t.TempDir(), "dump")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	restore := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(dump), "pg_restore"), "--dbname="+server.URL("postgres"), file)
	said, err := restore.CombinedOutput()
	require.NoError(t, err, string(said))
	pool, err := pgxpool.New(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := onPool(t, pool)
	state, err := b.outbox.Repair().State(t.Context())
	require.NoError(t, err)
	require.True(t, state.Withheld)
	require.NotEqual(t, state.Known.SystemID, state.Here.SystemID)
	require.Equal(t, 1, state.Here.Timeline)
}
