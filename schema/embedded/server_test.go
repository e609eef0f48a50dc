//go:build linux || darwin || freebsd

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/schema/internal/family"
)

func TestStartServesAndStopLeavesNothing(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	defer server.Stop(context.Background())
	conn := connect(t, server.URL("postgres"))
	for setting, want := range map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "restart_after_crash": "off",
		"jit": "off", "TimeZone": "UTC", "max_connections": "200", "listen_addresses": "127.0.0.1",
		"unix_socket_directories": "", "server_encoding": "UTF8", "autovacuum": "on",
	} {
		require.Equal(t, want, show(t, conn, setting), setting)
	}
	require.Contains(t, server.bin.version, fmt.Sprintf("(PostgreSQL) %d", server.Major()))

	pid := server.PID()
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group, "a Ctrl-C must not reach the server")

	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Stop(t.Context()), "stop is idempotent")
	require.False(t, family.Alive(pid))
	require.NoDirExists(t, filepath.Dir(server.DataDir()))
	require.Zero(t, server.PID())
	require.ErrorIs(t, server.Restart(t.Context()), errNotRunning)
	require.Error(t, family.Pause(server.PID()))
}

func TestNobodyConnectsWithoutThePassword(t *testing.T) {
	t.Parallel()
	server := startServer(t, Options{})
	_, err := pgx.Connect(t.Context(), strings.Replace(server.URL("postgres"), server.password, "guess", 1))
	require.ErrorContains(t, err, "28P01")
}

func TestDurableAndSettings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := startServer(t, Options{Durable: true, Settings: map[string]string{"max_connections": "17", "log_min_messages": "log"}, Log: &log})
	conn := connect(t, server.URL("postgres"))
	require.Equal(t, "on", show(t, conn, "fsync"))
	require.Equal(t, "on", show(t, conn, "full_page_writes"))
	require.Equal(t, "17", show(t, conn, "max_connections"))
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, server.Stop(t.Context()))
	require.Contains(t, log.String(), "database system is ready to accept connections")
}

func TestUnknownSettingNamesItself(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Settings: map[string]string{"no_such_setting": "1"}})
	require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
}

// Committed rows survive the death of all server processes, even without fsync.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	server := startServer(t, Options{})
	url := server.URL("postgres")
	conn := connect(t, url)
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n")
	require.NoError(t, err)
	members := family.Members(server.PID())
	require.Greater(t, len(members), 3)

	family.Kill(server.PID())
	require.Eventually(t, func() bool { return server.PID() == 0 }, 2*time.Minute, time.Millisecond)
	for _, pid := range members {
		require.False(t, family.Alive(pid))
	}
	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)

	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, url, server.URL("postgres"), "the URL is the same after a restart")
	conn = connect(t, url)
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 42, n)

	require.NoError(t, server.Restart(t.Context()), "Restart also works on a running server")
	conn = connect(t, url)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n))
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	server := startServer(t, Options{})
	conn := connect(t, server.URL("postgres"))
	require.NoError(t, family.Pause(server.PID()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := conn.Exec(ctx, "SELECT 1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, family.Resume(server.PID()))
	<-conn.PgConn().CleanupDone()
	conn = connect(t, server.URL("postgres"))
	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)

	require.NoError(t, family.Pause(server.PID()))
	require.NoError(t, server.Stop(t.Context()), "a paused server can be stopped")
}

func TestTakenPortIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), Options{Port: port})
	require.ErrorContains(t, err, fmt.Sprintf("start postgres: port %d on 127.0.0.1 is taken", port))
}

func TestPortOfChoice(t *testing.T) {
	t.Parallel()
	found, err := freeport.Find(1)
	require.NoError(t, err)
	port := found[0]
	server := startServer(t, Options{Port: port})
	require.Equal(t, port, server.port)
	require.Contains(t, server.URL("x"), fmt.Sprintf("@127.0.0.1:%d/x?", port))
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, Options{Settings: map[string]string{"cluster_name": "cancelled"}, Log: writerFunc(func(b []byte) {
		if bytes.Contains(b, []byte("starting PostgreSQL")) {
			cancel()
		}
	})})
	cancel()
	if err != nil { // the server may be ready before Start sees the cancellation
		require.True(t, errors.Is(err, context.Canceled), err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// A new durable cluster survives a power failure: its files, its directories and its own name are on
// disk before the server starts.
func TestADurableClusterIsOnDisk(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{"copied": {}, "own identity": {OwnIdentity: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var synced []string
			opts.DataDir, opts.Durable = openDir(t), true
			opts.sync = func(f *os.File) error {
				synced = append(synced, f.Name())
				return f.Sync()
			}
			server := startServer(t, opts)
			temp := server.DataDir() + ".tmp"
			for _, path := range []string{temp, filepath.Join(temp, "PG_VERSION"), filepath.Join(temp, "global"), filepath.Join(temp, "base", "1", "PG_VERSION")} {
				require.Contains(t, synced, path)
			}
			require.Equal(t, filepath.Dir(server.DataDir()), synced[len(synced)-1], "the new name")
		})
	}
}

func TestPersistentDataDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "dev", "pg")
	opts := Options{DataDir: dir, Durable: true}
	server := startServer(t, opts)
	require.Equal(t, filepath.Join(dir, "data"), server.DataDir())
	conn := connect(t, server.URL("postgres"))
	require.Equal(t, "on", show(t, conn, "restart_after_crash"))
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n")
	require.NoError(t, err)

	_, err = Start(t.Context(), opts)
	require.ErrorContains(t, err, dir+" is in use by another process")
	require.NoError(t, server.Stop(t.Context()))

	server = startServer(t, opts)
	conn = connect(t, server.URL("postgres"))
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 42, n)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, server.Stop(t.Context()))

	opts.Version = "99"
	_, err = Start(t.Context(), opts)
	require.ErrorContains(t, err, fmt.Sprintf("was made by version %d, but version 99 is wanted", server.Major()))
	opts.Version = "newest"
	_, err = Start(t.Context(), opts)
	require.ErrorContains(t, err, `version "newest" is not a major version`)
}

func TestForeignDataDirIsRefused(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	_, err := Start(t.Context(), Options{DataDir: dir})
	require.ErrorContains(t, err, "was not made by this program")
	require.DirExists(t, filepath.Join(dir, "data"))
}
