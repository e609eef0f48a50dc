// Package pgbouncer starts PgBouncer for tests, with transaction pooling: PgBouncer assigns server
// connections to clients for one transaction each.
package pgbouncer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
)

// patience is the maximum time that a busy machine may take to start PgBouncer.
const patience = 2 * time.Minute

// Start returns the URL of a pooler with transaction pooling in front of a database. The
// pooler stops when the test ends. CI must have PgBouncer; elsewhere the test is skipped
// without it.
func Start(t *testing.T, database string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer") // some PATHs do not contain /usr/sbin
	}
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "install Debian's package pgbouncer: %s", err)
		t.Skip("pgbouncer is not installed: Debian has it in a package of that name")
	}
	at, err := pgxpool.ParseConfig(database)
	require.NoError(t, err)
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	address := free[0]
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "hooklatch-pooler-*") //nolint:usetesting // other users cannot read t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	config := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
%s = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
`, at.ConnConfig.Database, at.ConnConfig.Host, at.ConnConfig.Port, at.ConnConfig.User, at.ConnConfig.Password, host, port), 0o644))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, config)
	if os.Getuid() == 0 { // PgBouncer refuses to run as root
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	log := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("pgbouncer's log:\n%s", log)
		}
	})
	require.Eventually(t, func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		return err == nil && conn.Close() == nil
	}, patience, 10*time.Millisecond, "pgbouncer does not listen")
	return (&url.URL{
		Scheme: "postgres", Host: net.JoinHostPort(host, port), Path: "/" + at.ConnConfig.Database,
		User: url.UserPassword(at.ConnConfig.User, strconv.Itoa(1)), RawQuery: "sslmode=disable",
	}).String()
}
