package riverjob

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// bundle is an Inserter with its database.
type bundle struct {
	*Inserter

	pool *pgxpool.Pool
	db   *commit.DB
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := pgtest.New(t)
	in, err := NewInserter(InserterOptions{Pool: pool, ConsoleURL: "https://hooks.example.com/"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Stop(context.Background())) })
	db, err := commit.New(commit.Options{Pool: pool})
	require.NoError(t, err)
	return &bundle{Inserter: in, pool: pool, db: db}
}

var (
	dispatchOf = DispatchJob{
		Event:     identity.EventRef{Source: "stripe", EventID: "evt_\"1\" <é>"},
		EventType: "invoice.paid", Queue: QueueDispatch, Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
	effectOf = EffectJob{
		ID: identity.EffectID{Scope: "stripe/receipts", Key: "in_1", Generation: 2}, Destination: "app", Queue: "dst_app",
		Event: dispatchOf.Event, EventType: dispatchOf.EventType,
	}
)

// The rows in the table equal the rows that River's own client would have written. After an update
// of River, run this test first.
func TestJobsAreThoseOfRiversClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client, err := river.NewClient(riverpgxv5.New(b.pool), &river.Config{Schema: string(schema.Default)})
	require.NoError(t, err)
	for _, row := range []jobRow{b.dispatch(dispatchOf), b.effect(effectOf)} {
		_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
		require.NoError(t, err)
		var args river.JobArgs = DispatchArgs{}
		if row.Kind == KindEffect {
			args = EffectArgs{}
		}
		switch decoded := args.(type) {
		case DispatchArgs:
			require.NoError(t, json.Unmarshal(row.Args, &decoded))
			args = decoded
		case EffectArgs:
			require.NoError(t, json.Unmarshal(row.Args, &decoded))
			args = decoded
		}
		_, err = client.Insert(t.Context(), args, &river.InsertOpts{
			Queue: row.Queue, MaxAttempts: int(row.MaxAttempts), Metadata: row.Metadata, Tags: strings.Split(row.Tags, ","),
		})
		require.NoError(t, err)
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.insert(t.Context(), tx, []jobRow{row}) }))
		rows, err := b.pool.Query(t.Context(), `SELECT to_jsonb(j) FROM hooklatch.river_job AS j ORDER BY id`)
		require.NoError(t, err)
		jobs, err := pgx.CollectRows(rows, pgx.RowTo[map[string]any])
		require.NoError(t, err)
		require.Len(t, jobs, 2)
		for _, job := range jobs {
			for _, own := range []string{"id", "created_at", "scheduled_at"} {
				require.NotEmpty(t, job[own])
				delete(job, own)
			}
		}
		require.Equal(t, jobs[0], jobs[1])
	}
}

func TestAJobInNoQueueIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wrong := effectOf
	wrong.Queue = "Queue, mine"
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.InsertEffects(t.Context(), tx, []EffectJob{wrong}) })
	require.ErrorContains(t, err, `"Queue, mine" is not the name of a queue`)
}

// listen returns the notifications that River's clients receive.
func (b *bundle) listen(t *testing.T) <-chan string {
	t.Helper()
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `LISTEN "hooklatch.river_insert"`)
	require.NoError(t, err)
	heard := make(chan string, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer conn.Release()
		for {
			n, err := conn.Conn().WaitForNotification(ctx)
			if err != nil {
				return
			}
			heard <- n.Payload
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return heard
}

// If a transaction of ours inserts jobs, clients are notified after the COMMIT, outside the
// transaction.
func TestQueuesAreToldAfterTheCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := b.listen(t)
	send := b.waker.send
	b.waker.send = func(ctx context.Context, queues []string) error {
		return send(context.WithoutCancel(ctx), queues) // without a time limit: the database may be slow
	}
	require.NoError(t, b.db.Do(t.Context(), "test", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if err := b.InsertDispatches(ctx, tx, []DispatchJob{dispatchOf, dispatchOf}); err != nil {
			return err
		}
		if err := b.InsertEffects(ctx, tx, []EffectJob{effectOf}); err != nil {
			return err
		}
		require.Empty(t, heard)
		return nil
	}))
	require.JSONEq(t, `{"queue": "dispatch"}`, <-heard)
	require.JSONEq(t, `{"queue": "dst_app"}`, <-heard)
	require.NoError(t, b.Stop(t.Context()))
	require.Empty(t, heard, "each queue is notified once")
}

// A caller's transaction notifies by itself, because Hooklatch does not learn of its commit.
func TestATransactionOfACallerNotifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := b.listen(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		return b.InsertEffects(t.Context(), tx, []EffectJob{effectOf, effectOf})
	}))
	require.JSONEq(t, `{"queue": "dst_app"}`, <-heard)
}

// No caller waits for a notification: queues that are added while a notification is sent share the
// next one.
func TestNotificationsAreShared(t *testing.T) {
	t.Parallel()
	sent := make(chan []string)
	b := setup(t)
	b.waker.send = func(_ context.Context, queues []string) error {
		sent <- queues
		return nil
	}
	b.waker.wake([]string{"a"})
	b.waker.wake([]string{"b"})
	b.waker.wake([]string{"c", "b"})
	var told []string
	for len(told) < 3 {
		told = append(told, <-sent...)
	}
	require.ElementsMatch(t, []string{"a", "b", "c"}, told)
}
