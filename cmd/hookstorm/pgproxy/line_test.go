package pgproxy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A COMMIT that was held back arrives after its client closed the connection, and is
// executed.
func TestWhatAPartitionHeldBackArrivesAfterwards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config, err := pgx.ParseConfig(b.url(t, ""))
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "killed"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN; INSERT INTO cells VALUES ('late')")
	require.NoError(t, err)

	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.PartitionRequests})
	hijacked, err := conn.PgConn().Hijack()
	require.NoError(t, err)
	commit, err := (&pgproto3.Query{String: "COMMIT"}).Encode(nil)
	require.NoError(t, err)
	_, err = hijacked.Conn.Write(commit)
	require.NoError(t, err)
	require.NoError(t, hijacked.Conn.Close()) // without a Terminate message, like a killed process
	require.Equal(t, "killed", next(t, armed).Application)
	var stored int
	require.NoError(t, b.sound.QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&stored))
	require.Zero(t, stored, "nothing has reached the server")
	require.Len(t, b.Connections(pgproxy.Who{}), 1, "the server has not noticed that the client is gone")

	armed.Disarm()
	require.Equal(t, 1, b.rows(t))
}

func TestAPartitionOfAnswersLetsTheServerWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.pool(t, "one"), b.pool(t, "two")
	require.NoError(t, one.Ping(t.Context()))
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.PartitionAnswers, Who: pgproxy.Who{Listener: "one"}})
	done := make(chan error, 1)
	go func() {
		_, err := one.Exec(t.Context(), "INSERT INTO cells VALUES ('x')")
		done <- err
	}()
	next(t, armed)
	require.NoError(t, store(t.Context(), t, two), "other connections are not affected")
	armed.Disarm()
	require.NoError(t, <-done, "the response was held back and then delivered")
	require.Equal(t, 2, b.rows(t))
	require.Equal(t, 1, armed.Count(), "a lasting fault fires once for each connection")
}

func TestAPartitionKeepsConnectionsFromBeginning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, kind := range []pgproxy.Kind{pgproxy.PartitionRequests, pgproxy.PartitionAnswers, pgproxy.Partition} {
		armed := b.arm(t, pgproxy.Fault{Kind: kind})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := pgx.Connect(ctx, b.url(t, ""))
			done <- err
		}()
		next(t, armed)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		armed.Disarm()
	}
}

func TestLatencyAndSlowBytesTakeTheirTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.url(t, ""))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))

	latency := b.arm(t, pgproxy.Fault{Kind: pgproxy.Latency, Delay: 40 * time.Millisecond})
	start := time.Now()
	require.NoError(t, conn.Ping(t.Context()))
	require.GreaterOrEqual(t, time.Since(start), 80*time.Millisecond, "the delay applies in both directions")
	require.Equal(t, 1, latency.Count())
	latency.Disarm()

	slow := b.arm(t, pgproxy.Fault{Kind: pgproxy.SlowBytes, Bytes: 50, Delay: 2 * time.Millisecond})
	start = time.Now()
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT repeat('x', 1000)").Scan(&text))
	require.Equal(t, strings.Repeat("x", 1000), text)
	require.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond, "20 pieces")
	require.Equal(t, 1, slow.Count())
}

func TestRefusedAndCappedConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := pgx.Connect(t.Context(), b.url(t, "one"))
	require.NoError(t, err)
	defer first.Close(context.WithoutCancel(t.Context()))

	refused := b.arm(t, pgproxy.Fault{Kind: pgproxy.Refuse, Count: 1})
	_, err = pgx.Connect(t.Context(), b.url(t, "one"))
	requireUnanswered(t, err)
	require.NoError(t, first.Ping(t.Context()), "existing connections remain")
	<-refused.Done()

	capped := b.arm(t, pgproxy.Fault{Kind: pgproxy.Cap, Who: pgproxy.Who{Listener: "one"}, Connections: 1})
	require.NoError(t, first.PgConn().CancelRequest(t.Context()))
	require.Zero(t, capped.Count(), "a cancel request does not count as a connection")
	_, err = pgx.Connect(t.Context(), b.url(t, "one"))
	requireCode(t, "53300", err)
	require.Equal(t, 1, capped.Count())
	other, err := pgx.Connect(t.Context(), b.url(t, "two"))
	require.NoError(t, err)
	require.NoError(t, other.Close(t.Context()))
	capped.Disarm()
	second, err := pgx.Connect(t.Context(), b.url(t, "one"))
	require.NoError(t, err)
	require.NoError(t, second.Close(t.Context()))
}

func TestTheProxyFollowsThePrimaryAndCutsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()

	b.SetTarget(b.Target())
	require.NoError(t, conn.Ping(t.Context()), "the same server")

	other := pgtest.New(t, pgtest.Empty(), pgtest.Own())
	b.SetTarget(address(t, pgtest.URL(t, other)))
	require.Error(t, conn.Ping(t.Context()))
	_, err = pgx.Connect(t.Context(), b.url(t, ""))
	require.Error(t, err, "the password belongs to the other server")
	b.server = pgtest.URL(t, other)
	moved, err := pgx.Connect(t.Context(), b.url(t, ""))
	require.NoError(t, err)
	var there, directly string
	const identity = "SELECT system_identifier::text FROM pg_control_system()"
	require.NoError(t, moved.QueryRow(t.Context(), identity).Scan(&there))
	require.NoError(t, other.QueryRow(t.Context(), identity).Scan(&directly))
	require.Equal(t, directly, there)

	b.SetTarget("")
	require.Error(t, moved.Ping(t.Context()))
	_, err = pgx.Connect(t.Context(), b.url(t, ""))
	requireUnanswered(t, err)
}

func TestConnectionsAreToldApartAndCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.pool(t, "one"), b.pool(t, "two")
	pids := map[string]uint32{}
	for name, pool := range map[string]*pgxpool.Pool{"one": one, "two": two} {
		var pid uint32
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		pids[name] = pid
	}
	require.Equal(t, []pgproxy.Connection{{Listener: "one", Application: "app one", BackendPID: pids["one"]}},
		b.Connections(pgproxy.Who{Listener: "one"}))
	require.Len(t, b.Connections(pgproxy.Who{}), 2)
	require.Equal(t, 1, b.Cut(pgproxy.Who{Application: "app two"}))
	require.Error(t, two.Ping(t.Context()))
	require.NoError(t, one.Ping(t.Context()))
}

// Postgres cancels a statement that its client gives up, even through the proxy.
func TestCancelRequestsArrive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config, err := pgx.ParseConfig(b.url(t, ""))
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT pg_sleep(60)")
		done <- err
	}()
	require.Eventually(t, func() bool {
		var active bool
		require.NoError(t, b.sound.QueryRow(t.Context(),
			"SELECT state = 'active' AND query LIKE '%pg_sleep(60)%' FROM pg_stat_activity WHERE pid = $1", conn.PgConn().PID()).Scan(&active))
		return active
	}, 2*time.Minute, time.Millisecond)
	require.NoError(t, conn.PgConn().CancelRequest(t.Context()))
	requireCode(t, "57014", <-done)
}

func TestCopyAndNotificationsPass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.url(t, ""))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows := make([][]any, 5000)
	for i := range rows {
		rows[i] = []any{strings.Repeat("x", 100)}
	}
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"cells"}, []string{"value"}, pgx.CopyFromRows(rows))
	require.NoError(t, err)
	require.EqualValues(t, len(rows), n)
	require.Equal(t, len(rows), b.rows(t))

	_, err = conn.Exec(t.Context(), "LISTEN storm")
	require.NoError(t, err)
	_, err = b.sound.Exec(t.Context(), "NOTIFY storm, 'hello'")
	require.NoError(t, err)
	notification, err := conn.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hello", notification.Payload)

	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Count: 1})
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	require.Error(t, tx.Commit(t.Context()))
	require.Equal(t, 1, armed.Count(), "responses are still counted correctly after a COPY")
}

func TestAMistakenFaultIsNotArmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, fault := range map[string]pgproxy.Fault{
		`kind "" is unknown`:                   {},
		"latency needs a Delay":                {Kind: pgproxy.Latency},
		"slow_bytes needs Bytes":               {Kind: pgproxy.SlowBytes, Delay: 1},
		"partition lasts: give For, not Count": {Kind: pgproxy.Partition, Count: 1},
		"delay_answer needs a Delay":           {Kind: pgproxy.DelayAnswer, Count: 1},
		"For is -1ns":                          {Kind: pgproxy.LoseAnswer, For: -1},
		"arm fault: Count is -1":               {Kind: pgproxy.LoseAnswer, Count: -1},
		"Connections is -1":                    {Kind: pgproxy.Cap, Connections: -1},
	} {
		_, err := b.Arm(fault)
		require.ErrorContains(t, err, want)
	}
}
