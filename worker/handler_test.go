package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func failWithNUL(context.Context, pgx.Tx, inbox.Event) error {
	return errors.New("bad\x00body\nsecond line\xff")
}

// ledgerTable creates the table for the handlers in these tests.
func (b *bundle) ledgerTable(t *testing.T) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE public.written (event_id text, note text)`)
	require.NoError(t, err)
}

func write(ctx context.Context, tx pgx.Tx, id, note string) error {
	_, err := tx.Exec(ctx, `INSERT INTO public.written VALUES ($1, $2)`, id, note)
	return err
}

func (b *bundle) written(t *testing.T) int {
	t.Helper()
	return b.count(t, `SELECT count(*) FROM public.written`)
}

// Effects that a handler enqueues belong to its event just like effects of routes.
func TestWhatAHandlerEnqueuesIsLinkedToItsEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	b.opts.Routes = nil
	w := b.worker(t)
	w.Handle(testSource, "*", func(ctx context.Context, tx pgx.Tx, _ inbox.Event) error {
		_, err := b.outbox.EnqueueTx(ctx, tx, outbox.Enqueue{
			Key: "order-1001", Destination: "app", OrderKey: "orders",
			Request: ledger.Request{ContentType: "application/json", Body: []byte(`{"order":1001}`)},
		})
		return err
	})
	b.start(t, w)
	b.accept(t, "evt_1", true)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	b.accept(t, "evt_2", true)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_2' AND outcome = 'dispatched'`)
	for id, suppressed := range map[string]bool{"evt_1": false, "evt_2": true} {
		links, err := b.outbox.Ledger().EffectsOfEvent(t.Context(), identity.EventRef{Source: testSource, EventID: identity.EventID(id)})
		require.NoError(t, err)
		require.Len(t, links, 1, id)
		require.EqualValues(t, "order-1001", links[0].Key)
		require.Equal(t, suppressed, links[0].Suppressed)
	}
	line := b.lines(t, "effect attempted")[0]
	require.Equal(t, testSource, line["source"])
	require.Equal(t, "evt_1", line["event_id"])
	require.Equal(t, "invoice.paid", line["event_type"])
}

func TestHandlersShareOneTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ledgerTable(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.worker(t)
	var runs atomic.Int32
	checked := make(chan struct{}) // closed when the test has seen what the first run left
	w.Handle(testSource, "invoice.*", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		require.Equal(t, `{"id":"evt_1","amount":5}`, string(e.Body))
		_, err := b.outbox.EnqueueTx(ctx, tx, outbox.Enqueue{
			Key:         "from-handler",
			Destination: "app",
			Request:     ledger.Request{ContentType: "text/plain", Body: []byte("hello")},
		})
		return errors.Join(err, write(ctx, tx, string(e.EventID), "first"))
	})
	w.Handle("*", "invoice.paid", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		if err := write(ctx, tx, string(e.EventID), "second"); err != nil {
			return err
		}
		if runs.Add(1) == 1 {
			return errors.New("not yet")
		}
		select {
		case <-checked:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	w.Handle("github", "*", func(context.Context, pgx.Tx, inbox.Event) error { panic("of another source") })
	events := b.start(t, w)
	b.accept(t, "evt_1", true)

	failed := next(t, events, riverjob.KindDispatch, river.EventKindJobFailed)
	require.Equal(t, "handlers-stripe", failed.Queue)
	require.Equal(t, "stripe/evt_1: handler of * invoice.paid: not yet", failed.Errors[0].Error)
	require.Zero(t, b.written(t), "the error rolled back what both handlers wrote")
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.Equal(t, inbox.Received, b.event(t, "evt_1").Outcome)
	close(checked)

	completed := next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	require.Equal(t, "dispatched", outputOf(t, completed).Outcome)
	require.Equal(t, 2, b.written(t))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects`), "one effect of the route and one of the handler")
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	stop(t, w)
	require.EqualValues(t, 1, b.counted(t, "hooklatch.handler.attempts", map[string]any{"outcome": "error", "first_attempt": true}))
	require.EqualValues(t, 2, b.counted(t, "hooklatch.handler.attempts", map[string]any{"outcome": "done", "first_attempt": false}))
}

// The handler's writes, the fence and the completion of the job are one commit (I10). The commit is
// durable regardless of the server's defaults.
func TestHandlersCommitWithTheirJobAndDurably(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ledgerTable(t)
	_, err := b.pool.Exec(t.Context(), `
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$;
		ALTER TABLE public.written ADD COLUMN transaction xid8 DEFAULT pg_current_xact_id();
		CREATE FUNCTION note_completion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO public.written VALUES ('', 'completed');
			RETURN NULL;
		END $$;
		CREATE TRIGGER note_completion AFTER UPDATE ON hooklatch.river_job FOR EACH ROW WHEN (NEW.state = 'completed' AND NEW.kind = 'dispatch')
			EXECUTE FUNCTION note_completion()`)
	require.NoError(t, err)
	b.pool.Reset() // new sessions have the setting
	w := b.worker(t)
	w.Handle("*", "*", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		var setting string
		if err := tx.QueryRow(ctx, `SHOW synchronous_commit`).Scan(&setting); err != nil {
			return err
		}
		return write(ctx, tx, string(e.EventID), setting)
	})
	events := b.start(t, w)
	b.accept(t, "evt_1", true)
	next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM public.written WHERE note = 'on'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM public.written AS w JOIN public.written AS j USING (transaction) WHERE w.note = 'on' AND j.note = 'completed'`))
}

func TestPanicOfHandlerIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(t)
	w.Handle("*", "*", func(context.Context, pgx.Tx, inbox.Event) error { panic("a\x00b") })
	events := b.start(t, w)
	b.accept(t, "evt_1", true)
	failed := next(t, events, riverjob.KindDispatch, river.EventKindJobFailed)
	require.Regexp(t, `^stripe/evt_1: handler of \* \*: panic: string at .*worker\.TestPanicOfHandlerIsAnError\.func\d+:\d+$`, failed.Errors[0].Error)
	require.Contains(t, b.lines(t, "handler ran")[0]["stack"], "TestPanicOfHandlerIsAnError")
}

func TestLastFailureIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(t)
	w.Handle("*", "*", failWithNUL)
	b.accept(t, "evt_1", true)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET max_attempts = 1`)
	require.NoError(t, err)
	events := b.start(t, w)
	failed := next(t, events, riverjob.KindDispatch, river.EventKindJobFailed)
	require.Equal(t, rivertype.JobStateDiscarded, failed.State)
	e := b.event(t, "evt_1")
	require.Equal(t, inbox.Failed, e.Outcome)
	require.Equal(t, "handler of * *: bad body second line\uFFFD", e.Error)
	require.EqualValues(t, 1, b.counted(t, "hooklatch.dispatch.attempts", map[string]any{"outcome": "failed"}))
}

// The writes for an event are committed once, even if a stalled run is rescued and then continues.
// While the run stalls in its handler, the next run waits at the fence, or the server ends the
// stalled transaction.
func TestStalledRunWritesOnce(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{true, false} {
		name := "SecondRunWaitsAtTheFence"
		idleLimit := time.Minute // limit for the first worker's transactions
		if !waits {
			name = "ServerEndsTheFirstTransaction"
			idleLimit = 200 * time.Millisecond
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.ledgerTable(t)
			b.to(t, func(http.ResponseWriter, *http.Request) {})
			b.opts.JobTimeout, b.opts.RescueAfter = 3*time.Second, 3100*time.Millisecond

			stalled, release := make(chan struct{}), make(chan struct{})
			var runs atomic.Int32
			handle := func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
				if err := write(ctx, tx, string(e.EventID), fmt.Sprint("run ", runs.Load()+1)); err != nil {
					return err // on a busy machine, the server may already have ended the transaction
				}
				if runs.Add(1) == 1 {
					close(stalled)
					<-release // ignores ctx
				}
				return nil
			}
			first, second := b.worker(t), b.worker(t)
			for w, limit := range map[*Worker]time.Duration{first: idleLimit, second: time.Minute} {
				w.handlersTx = commit.TransactionOptions(limit)
				w.Handle(testSource, "*", handle)
			}
			b.start(t, first)
			b.accept(t, "evt_1", true)
			<-stalled
			b.start(t, second)
			rescue(t, b, second, riverjob.KindDispatch)
			const completed = `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'completed'`
			if waits {
				waitFor(t, b, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
				close(release)
				waitFor(t, b, completed)
			} else {
				waitFor(t, b, completed)
				close(release)
			}
			stop(t, first)
			stop(t, second)
			require.Equal(t, 1, b.written(t), "the handler's writes are applied once")
			require.Equal(t, inbox.Dispatched, b.event(t, "evt_1").Outcome)
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
			require.Equal(t, 1, b.count(t, completed))
			require.EqualValues(t, 1, b.counted(t, "hooklatch.rescued", map[string]any{"kind": "dispatch"}))
		})
	}
}

// A cancelled COMMIT would have an unknown outcome. So the transaction is committed even if the
// job times out, or its process stops, just when the handlers are done.
func TestACancelledJobStillCommitsWhatItsHandlersWrote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ledgerTable(t)
	b.opts.JobTimeout, b.opts.RescueAfter = time.Second, time.Minute
	w := b.worker(t)
	var runs atomic.Int32
	w.Handle(testSource, "*", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		if err := write(ctx, tx, string(e.EventID), "first"); err != nil {
			return err // on a busy machine, the job may already have timed out
		}
		runs.Add(1)
		<-ctx.Done()
		return nil
	})
	b.start(t, w)
	b.accept(t, "evt_1", true)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'completed'`)
	require.Equal(t, inbox.Dispatched, b.event(t, "evt_1").Outcome)
	require.Equal(t, 1, b.written(t))
	require.EqualValues(t, 1, runs.Load())
}

// A handler decides when its event is dispatched again, and when the event fails.
func TestHandlersAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ledgerTable(t)
	w := b.worker(t)
	type invoice struct {
		ID     string
		Amount int
	}
	w.Handle(testSource, "*", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		in, err := Payload[invoice](e)
		if err != nil {
			return GiveUp(err.Error())
		}
		if err := write(ctx, tx, in.ID, strconv.Itoa(in.Amount)); err != nil {
			return err
		}
		if e.EventID == "evt_later" {
			return fmt.Errorf("ask the bank: %w", RetryIn(time.Hour, errors.New("closed")))
		}
		return GiveUp("nobody wants it")
	})
	events := b.start(t, w)

	b.accept(t, "evt_later", true)
	job := next(t, events, riverjob.KindDispatch, river.EventKindJobFailed)
	require.Contains(t, job.Errors[0].Error, "ask the bank: closed, again in 1h0m0s")
	require.WithinDuration(t, time.Now().Add(time.Hour), job.ScheduledAt, time.Minute)
	require.Equal(t, inbox.Received, b.event(t, "evt_later").Outcome)

	b.accept(t, "evt_never", true)
	job = next(t, events, riverjob.KindDispatch, river.EventKindJobCancelled)
	require.Contains(t, job.Errors[0].Error, "given up: nobody wants it")
	failed := b.event(t, "evt_never")
	require.Equal(t, inbox.Failed, failed.Outcome)
	require.Contains(t, failed.Error, "nobody wants it")
	require.Zero(t, b.written(t), "the handler's writes are rolled back")

	_, err := Payload[invoice](inbox.Event{EventRef: identity.EventRef{Source: "s", EventID: "e"}, Body: []byte("<xml/>")})
	require.ErrorContains(t, err, "decode payload of s/e")
	part, err := Payload[invoice](inbox.Event{Item: "/1", Body: []byte(`[{},{"id":"in_2","amount":3,"more":true}]`)})
	require.NoError(t, err)
	require.Equal(t, invoice{ID: "in_2", Amount: 3}, part)
}

// Payload skips a byte order mark before a body.
func TestPayloadBehindAByteOrderMark(t *testing.T) {
	t.Parallel()
	value, err := Payload[struct{ Amount int }](inbox.Event{Body: []byte("\ufeff" + `{"amount": 7}`)})
	require.NoError(t, err)
	require.Equal(t, 7, value.Amount)
}
