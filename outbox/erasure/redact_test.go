package erasure_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (b *bundle) redact(t testing.TB, after time.Duration, pointers ...string) erasure.Redacted {
	t.Helper()
	done, err := b.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "shop", Pointers: pointers, After: after}})
	require.NoError(t, err)
	return done
}

func (b *bundle) redacted(t testing.TB, events, waiting int, pointers ...string) {
	t.Helper()
	done := b.redact(t, 0, pointers...)
	require.Equal(t, events, done.Events, "redacted")
	require.Equal(t, waiting, done.Waiting, "waiting")
}

func TestRedactionReplacesTheValuesAndLeavesEveryOtherByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.done(t, "evt_1", "{ \"data\":\t{\"email\" : \"jane@x\",\"n\":1e400,\"email\":[1, 2] } ,\"s\":\"\\ud800\"}\n")
	b.done(t, "evt_2", `{"other":true}`)
	b.done(t, "xml", `<email>jane@x</email>`)
	b.redacted(t, 3, 0, "/data/email", "/phone")
	require.Equal(t, "{ \"data\":\t{\"email\" : \"redacted\",\"n\":1e400,\"email\":\"redacted\" } ,\"s\":\"\\ud800\"}\n", string(b.event(t, "evt_1").Body))
	require.Equal(t, `{"other":true}`, string(b.event(t, "evt_2").Body))
	require.Empty(t, b.event(t, "xml").Body, "the positions of its values cannot be determined")
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE error = 'redacted' AND erased_at IS NOT NULL`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE response_excerpt <> ''`))

	e := b.event(t, "evt_1")
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.True(t, e.ErasedAt.IsZero())
	require.False(t, e.RedactedAt.IsZero())
	require.NotEmpty(t, e.Headers)
	_, err := b.Inbox().Replay(t.Context(), ref("evt_1"), ann, inbox.ReplayOptions{})
	require.ErrorContains(t, err, "its content was redacted on ")
	came := b.accept(t, `{}`, map[string]string{"evt_1": ""})
	require.Equal(t, outbox.Duplicate, came.Events[0].Status)
	b.redacted(t, 0, 0, "/data/email", "/phone")
}

func TestFormsAreRedactedByTheirFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := outbox.Delivery{Source: "shop", Provider: "twilio", ContentType: payload.FormType, Body: []byte("From=%2B49+1&To=x&%46rom=2&A=From"), Events: []outbox.Incoming{{ID: "sms", Type: "sms"}}}
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	b.dispatch(t, "sms")
	b.redacted(t, 1, 0, "/From")
	require.Equal(t, "From=redacted&To=x&%46rom=redacted&A=From", string(b.event(t, "sms").Body))
}

// If a delivery contains several events, the pointers start at each event.
func TestAnItemIsRedactedWithoutItsNeighbours(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"list":[{"email":"a@b"},{"email":"c@d"}],"email":"e@f"}`, map[string]string{"a": "/list/0", "b": "/list/1"})
	b.dispatch(t, "b")
	b.redacted(t, 1, 1, "/email")
	require.Equal(t, `{"list":[{"email":"a@b"},{"email":"redacted"}],"email":"e@f"}`, string(b.event(t, "a").Body))
	b.dispatch(t, "a")
	b.redacted(t, 1, 0, "/email")
	require.Equal(t, `{"email":"redacted"}`, string(b.event(t, "a").Payload()))
}

// The delay of a redaction begins when the last effect ends, however long that effect took.
func TestRedactionWaitsForTheEndOfEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"email":"a@b"}`, map[string]string{"evt_1": ""})
	effect := b.dispatch(t, "evt_1", "k")[0]
	b.accept(t, `{"email":"a@b"}`, map[string]string{"evt_2": ""})
	require.NoError(t, b.Ledger().Park(t.Context(), effect.IdempotencyKey(), ann))
	for i := range 3 {
		b.done(t, fmt.Sprintf("later_%d", i), `{"email":"a@b"}`)
	}
	require.Zero(t, b.redact(t, time.Hour, "/email"), "the event is too recent")
	b.redacted(t, 3, 2, "/email")
	b.redacted(t, 0, 2, "/email")
	require.Equal(t, `{"email":"a@b"}`, string(b.event(t, "evt_1").Body))
	require.NoError(t, b.Ledger().Retry(t.Context(), effect.IdempotencyKey(), ann))
	b.exec(t, `UPDATE hooklatch.effects SET next_attempt_at = now() WHERE state = 'pending'`)
	b.settle(t, b.claim(t, effect), ledger.VerdictDone)
	require.Equal(t, 2, b.redact(t, time.Hour, "/email").Waiting, "its effect has just ended")
	b.redacted(t, 1, 1, "/email")
	require.Equal(t, `{"email":"redacted"}`, string(b.event(t, "evt_1").Body))

	_, err := b.Erasure().Event(t.Context(), ref("evt_2"), ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	b.redacted(t, 0, 0, "/email")
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.redaction_waiting`))
}

// Changed rules apply to earlier events too.
func TestNewRulesRedactWhatIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 60 { // more than fit in one transaction
		b.done(t, fmt.Sprintf("evt_%02d", i), `{"email":"a@b","phone":"1"}`)
	}
	b.redacted(t, 60, 0, "/email")
	b.redacted(t, 0, 0, "/email")
	b.redacted(t, 60, 0, "/phone", "/email")
	for _, id := range []string{"evt_00", "evt_59"} {
		require.Equal(t, `{"email":"redacted","phone":"redacted"}`, string(b.event(t, id).Body))
	}
}

// Each call runs out of time after the first page of waiting events. Repeated calls nevertheless
// reach every event of every source.
func TestManyWaitingEventsHoldUpNoOtherEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const waiting = 120 // more than two pages
	items := make(map[string]string)
	var parts []string
	for i := range waiting {
		items[fmt.Sprintf("evt_%03d", i)] = fmt.Sprintf("/%d", i)
		parts = append(parts, `{"email":"jane@x"}`)
	}
	b.accept(t, "["+strings.Join(parts, ",")+"]", items)
	b.redacted(t, 0, waiting, "/email")
	finish := func(id string) {
		b.exec(t, `UPDATE hooklatch.processed_events SET outcome = 'skipped', processed_at = now() WHERE event_id = $1`, id)
	}
	finish("evt_119") // the last of the waiting events
	b.accept(t, `{"email":"jane@x"}`, map[string]string{"new": ""})
	finish("new")
	_, err := b.Accept(t.Context(), outbox.Delivery{Source: "other", Provider: "p", Body: []byte(`{"email":"jane@x"}`), ContentType: "application/json", Events: []outbox.Incoming{{ID: "other", Type: "t"}}})
	require.NoError(t, err)
	finish("other")

	// Each call runs out of time at the second page of waiting events, whatever their source.
	pages := &pageCounter{}
	config := b.pool.Config()
	config.ConnConfig.Tracer = pages
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Stop(context.WithoutCancel(t.Context()))) })
	redactions := []erasure.Redaction{{Source: "shop", Pointers: []string{"/email"}}, {Source: "other", Pointers: []string{"/email"}}}
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		pages.begin(2, cancel)
		done, _ := o.Erasure().Redact(halfway{ctx}, redactions) // the error is that of the cancelled context
		require.True(t, done.Unfinished)
	}
	for _, id := range []string{"evt_119", "new", "other"} {
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = $1 AND redacted_at IS NOT NULL`, id), id)
	}
}

// halfway is a context whose deadline is so near that half of the time is over after one page. It
// ends only when it is cancelled, so that the test does not depend on the speed of the machine.
type halfway struct{ context.Context }

func (halfway) Deadline() (time.Time, bool) { return time.Now().Add(time.Nanosecond), true }

// pageCounter is a tracer that calls a function at the n-th reading of waiting events.
type pageCounter struct {
	mu   sync.Mutex
	left int
	end  func()
}

func (c *pageCounter) begin(n int, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.end = n, end
}

func (c *pageCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (c *pageCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *pageCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range data.Batch.QueuedQueries {
		if strings.Contains(q.SQL, "FROM hooklatch.redaction_waiting") && strings.Contains(q.SQL, "LIMIT") {
			if c.left--; c.left == 0 {
				c.end()
			}
		}
	}
	return ctx
}

func (c *pageCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (c *pageCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// One event of a batch cannot be redacted: another transaction keeps it locked, or the server refuses
// the change. It waits, and every other event of every source is redacted.
func TestAnEventThatCannotBeRedactedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const events = 7
	for _, how := range []string{"locked", "refused"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for bad := range events {
				b := setup(t)
				for i := range events {
					b.done(t, fmt.Sprint("evt_", i), `{"email":"jane@x"}`)
				}
				_, err := b.Accept(t.Context(), outbox.Delivery{Source: "other", Provider: "p", Body: []byte(`{"email":"jane@x"}`), ContentType: "application/json", Events: []outbox.Incoming{{ID: "evt", Type: "t"}}})
				require.NoError(t, err)
				b.exec(t, `UPDATE hooklatch.processed_events SET outcome = 'skipped', processed_at = now() WHERE source = 'other'`)
				heal := func() { b.exec(t, `DROP TRIGGER refuse ON hooklatch.processed_events`) }
				name := fmt.Sprint("evt_", bad)
				if how == "refused" {
					b.exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
					b.exec(t, `CREATE TRIGGER refuse BEFORE UPDATE ON hooklatch.processed_events FOR EACH ROW WHEN (NEW.event_id = '`+name+`') EXECUTE FUNCTION refuse()`)
				} else {
					tx, err := b.pool.Begin(t.Context())
					require.NoError(t, err)
					_, err = tx.Exec(t.Context(), `SELECT FROM hooklatch.processed_events WHERE event_id = $1 FOR UPDATE`, name)
					require.NoError(t, err)
					heal = func() { require.NoError(t, tx.Rollback(t.Context())) }
				}
				redactions := []erasure.Redaction{{Source: "shop", Pointers: []string{"/email"}}, {Source: "other", Pointers: []string{"/email"}}}
				for range 2 { // the second call finds the event among the waiting events
					_, err = b.Erasure().Redact(t.Context(), redactions)
					require.ErrorContains(t, err, "redact events of shop: shop/"+name)
					require.Equal(t, events, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE redacted_at IS NOT NULL`), name)
				}
				heal()
				_, err = b.Erasure().Redact(t.Context(), redactions)
				require.NoError(t, err)
				require.Equal(t, events+1, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE redacted_at IS NOT NULL`))
			}
		})
	}
}
