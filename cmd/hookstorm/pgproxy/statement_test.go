package pgproxy_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
)

func TestALostCommitAnswerIsCommitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "one")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Count: 1})

	requireUnanswered(t, store(t.Context(), t, pool))
	firing := next(t, armed)
	require.Equal(t, "app one", firing.Application)
	require.Equal(t, "one", firing.Listener)
	require.NotZero(t, firing.BackendPID)
	require.Equal(t, "commit", firing.SQL)
	require.Equal(t, "COMMIT", firing.Answer)
	require.WithinDuration(t, time.Now(), firing.At, time.Minute)
	require.Equal(t, 1, b.rows(t))
	<-armed.Done()

	require.NoError(t, store(t.Context(), t, pool), "the fault was armed for one firing")
	require.Equal(t, 2, b.rows(t))
	require.Equal(t, 1, armed.Count())
}

func TestALostCommitIsRolledBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseRequest, Count: 1})
	requireUnanswered(t, store(t.Context(), t, pool))
	next(t, armed)
	require.Zero(t, b.rows(t))
}

func TestATerminatedCommitIsCommitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.Terminate, Count: 1})
	requireCode(t, "57P01", store(t.Context(), t, pool))
	require.Equal(t, "COMMIT", next(t, armed).Answer)
	require.Equal(t, 1, b.rows(t))
	require.NoError(t, store(t.Context(), t, pool))
}

func TestAHangingCommitIsCommittedAndNotAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.HangAnswer, Count: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store(ctx, t, pool) }()
	next(t, armed)
	require.Equal(t, 1, b.rows(t))
	require.Len(t, b.Connections(pgproxy.Who{}), 1, "the connection stays open")
	select {
	case err := <-done:
		t.Fatalf("commit returned: %v", err)
	default:
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool { return len(b.Connections(pgproxy.Who{})) == 0 }, 2*time.Minute, time.Millisecond,
		"the client has given up")
}

// If the server closes the connection before it responds, an armed fault has not fired.
func TestAFaultWithoutAnAnswerIsArmedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Match: regexp.MustCompile("pg_terminate_backend"), Count: 1})
	_, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
	require.Error(t, err)
	require.Zero(t, armed.Count())
	_, err = pool.Exec(t.Context(), "SELECT pg_terminate_backend(0)")
	requireUnanswered(t, err)
	require.Equal(t, 1, armed.Count())
}

// The proxy matches statements that are prepared under a name, pipelined, or sent as simple
// queries.
func TestStatementsAreMatchedHoweverTheyAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	match := regexp.MustCompile(`(?s)-- name: Store\b.*INSERT`)
	const insert = "-- name: Store :exec\nINSERT INTO cells VALUES ($1)"
	send := map[string]func() error{
		"prepared": func() error {
			_, err := pool.Exec(t.Context(), insert, "x")
			return err
		},
		"pipeline": func() error {
			var batch pgx.Batch
			batch.Queue("SELECT $1::int", 1)
			batch.Queue(insert, "y")
			batch.Queue("SELECT $1::int", 2)
			return pool.SendBatch(t.Context(), &batch).Close()
		},
		"simple": func() error {
			_, err := pool.Exec(t.Context(), insert, pgx.QueryExecModeSimpleProtocol, "z")
			return err
		},
		"unnamed": func() error {
			_, err := pool.Exec(t.Context(), insert, pgx.QueryExecModeExec, "z")
			return err
		},
	}
	for range 3 { // from the second time on, the statement is already prepared
		for form, try := range send {
			before := b.rows(t)
			require.NoError(t, try(), form)
			require.Equal(t, before+1, b.rows(t), form)

			lost := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseRequest, Match: match, Count: 1})
			requireUnanswered(t, try())
			require.Equal(t, before+1, b.rows(t), form)
			require.Contains(t, next(t, lost).SQL, "INSERT", form)

			unheard := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Match: match, Count: 1})
			requireUnanswered(t, try())
			next(t, unheard)
			require.Equal(t, before+2, b.rows(t), form)
		}
	}
}

func TestAnswersBeforeTheLostOneAreDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.url(t, ""))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Match: regexp.MustCompile("SELECT 2"), Count: 1})

	pipeline := conn.PgConn().StartPipeline(t.Context())
	pipeline.SendQueryParams("SELECT 1", nil, nil, nil, nil)
	require.NoError(t, pipeline.Sync())
	pipeline.SendQueryParams("SELECT 2", nil, nil, nil, nil)
	require.NoError(t, pipeline.Sync())
	first, err := pipeline.GetResults()
	require.NoError(t, err)
	require.NotNil(t, first)
	next(t, armed)
	require.Error(t, pipeline.Close())
}

func TestADelayedRequestIsNotThereYetAndADelayedAnswerIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	const long = time.Hour
	for _, one := range []struct {
		kind  pgproxy.Kind
		while int
	}{{pgproxy.DelayRequest, 0}, {pgproxy.DelayAnswer, 1}} {
		var before, during int
		require.NoError(t, b.sound.QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&before))
		armed := b.arm(t, pgproxy.Fault{Kind: one.kind, Delay: long})
		done := make(chan error, 1)
		go func() { done <- store(t.Context(), t, pool) }()
		require.Equal(t, "commit", next(t, armed).SQL)
		require.NoError(t, b.sound.QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&during))
		require.Equal(t, before+one.while, during, "%s", one.kind)
		select {
		case err := <-done:
			t.Fatalf("%s: commit returned: %v", one.kind, err)
		default:
		}
		armed.Disarm()
		require.NoError(t, <-done, "a delay ends with its fault")
		require.Equal(t, 1, armed.Count())
		require.Equal(t, before+1, b.rows(t))
	}
}

func TestFaultsAreForThoseTheyName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.pool(t, "one"), b.pool(t, "two")
	byListener := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Who: pgproxy.Who{Listener: "one"}})
	require.NoError(t, store(t.Context(), t, two))
	require.Error(t, store(t.Context(), t, one))
	require.Error(t, store(t.Context(), t, one), "a fault without a count fires again")
	byListener.Disarm()
	require.NoError(t, store(t.Context(), t, one))

	byName := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseAnswer, Who: pgproxy.Who{Application: "app two"}, Count: 5})
	require.NoError(t, store(t.Context(), t, one))
	require.Error(t, store(t.Context(), t, two))
	b.DisarmAll()
	<-byName.Done()
	require.NoError(t, store(t.Context(), t, two))
	require.Equal(t, 2, byListener.Count())
}

func TestAFaultEndsWithItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := b.pool(t, "")
	armed := b.arm(t, pgproxy.Fault{Kind: pgproxy.LoseRequest, For: time.Millisecond})
	<-armed.Done()
	require.NoError(t, store(t.Context(), t, pool))
}
