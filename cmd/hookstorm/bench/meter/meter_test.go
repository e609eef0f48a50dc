package meter_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestThePostgresOfABackendIsFoundAndMeasured(t *testing.T) {
	t.Parallel()
	if !meter.Known() {
		t.Skip("this machine has no /proc")
	}
	pool := pgtest.New(t, pgtest.Own())
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	backend := int(conn.Conn().PgConn().PID())
	postmaster := meter.Parent(backend)
	require.Equal(t, pgtest.Server(t, pool).PID(), postmaster)

	before, without := meter.Server(postmaster), meter.Server(postmaster, backend)
	_, err = conn.Exec(t.Context(), `SELECT count(*) FROM generate_series(1, 3000000)`)
	require.NoError(t, err)
	require.Greater(t, meter.Server(postmaster), before)
	require.Less(t, meter.Server(postmaster, backend)-without, meter.Server(postmaster)-before, "an observing backend is excluded")

	now, peak := meter.Memory(os.Getpid())
	require.Positive(t, now)
	require.GreaterOrEqual(t, peak, now)
	require.Positive(t, meter.Self())
	require.Zero(t, meter.CPU(-1))
}

func TestWALHasImagesAfterACheckpointOnly(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Durable())
	acquired, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer acquired.Release()
	conn := acquired.Conn()
	exec := func(sql string) {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	written := func(do string) meter.WAL {
		from, err := meter.Now(t.Context(), conn)
		require.NoError(t, err)
		exec(do)
		to, err := meter.Now(t.Context(), conn)
		require.NoError(t, err)
		wal, err := meter.Between(t.Context(), conn, from, to)
		require.NoError(t, err)
		return wal
	}
	exec("CREATE TABLE cells (n int, filler text); INSERT INTO cells SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g")
	exec("CHECKPOINT")
	first, second := written("UPDATE cells SET n = -n WHERE n % 50 = 0"), written("UPDATE cells SET n = -n WHERE n % 50 = 1")
	require.Positive(t, second.Bytes)
	if first.Images < 0 {
		t.Skip("this server has no pg_walinspect")
	}
	require.Greater(t, first.Images, second.Images)
	require.Less(t, first.Images, first.Bytes)

	none, err := meter.Now(t.Context(), conn)
	require.NoError(t, err)
	nothing, err := meter.Between(t.Context(), conn, none, none)
	require.NoError(t, err)
	require.Zero(t, nothing)
}

// The size of images in removed WAL is unknown. For example, the drain of a million effects writes
// more WAL than the server keeps.
func TestImagesInWALThatIsGoneAreNotKnown(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	acquired, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer acquired.Release()
	conn := acquired.Conn()
	from, err := meter.Now(t.Context(), conn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE written (n bigint)`)
	require.NoError(t, err)
	for range 2 { // each switch ends a segment, and the checkpoint then removes earlier segments
		for _, do := range []string{`INSERT INTO written VALUES (1)`, `SELECT pg_switch_wal()`, `CHECKPOINT`} {
			_, err := conn.Exec(t.Context(), do)
			require.NoError(t, err)
		}
	}
	to, err := meter.Now(t.Context(), conn)
	require.NoError(t, err)

	wal, err := meter.Between(t.Context(), conn, from, to)
	require.NoError(t, err)
	require.Greater(t, wal.Bytes, int64(16<<20), "two segments were filled up")
	require.EqualValues(t, -1, wal.Images)
}
