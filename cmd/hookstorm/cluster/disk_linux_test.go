package cluster_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// privateEnv marks the process in which the test may mount.
const privateEnv = "CLUSTER_TEST_PRIVATE"

func TestAFullDiskIsRealAndHasRoomAgain(t *testing.T) {
	t.Parallel()
	if os.Getenv(privateEnv) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), privateEnv+"=1")
		cluster.Privately(cmd)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) {
			t.Skipf("this machine allows no namespaces: %v", err)
		}
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}
	c := start(t, cluster.Options{
		Dir: openDir(t), SmallDisk: 320 << 20, Standby: true, Synchronous: true,
		Settings: map[string]string{"wal_keep_size": "64MB", "max_wal_size": "64MB"},
	})
	conn := connect(t, c.Primary("postgres"))
	_, err := conn.Exec(t.Context(), "CREATE TABLE large (text text)")
	require.NoError(t, err)
	written, err := c.FillDisk()
	require.NoError(t, err)
	require.Positive(t, written)
	for err == nil {
		_, err = conn.Exec(t.Context(), "INSERT INTO large SELECT repeat('x', 7000) FROM generate_series(1, 100)")
	}
	// If the WAL ran out of space before the table did, the server crashed and reported no ERROR.
	if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Severity == "ERROR" {
		require.Equal(t, "53100", said.Code)
	}
	_, err = c.FreeDisk(t.Context())
	require.NoError(t, err)
	_, err = connect(t, c.Primary("postgres")).Exec(t.Context(), "INSERT INTO large SELECT repeat('x', 7000) FROM generate_series(1, 1000)")
	require.NoError(t, err)

	require.NoError(t, c.Promote(t.Context(), cluster.Killed))
	_, err = c.FillDisk()
	require.NoError(t, err, "the new primary has its own disk")
	_, err = c.FreeDisk(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
}

func TestOnlyAServerWithItsOwnDiskIsFilled(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{})
	_, err := c.FillDisk()
	require.Error(t, err)
	_, err = cluster.Start(t.Context(), cluster.Options{SmallDisk: 1 << 30})
	require.ErrorContains(t, err, "SmallDisk needs Dir")
}
