package checker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// run is a small run of the scenario in this process: the real outbox, worker and receivers, and
// a history of everything they do.
type run struct {
	pool      *pgxpool.Pool
	box       *outbox.Outbox
	receivers *receivers.Receivers
	history   *history.Writer
	file      bytes.Buffer
}

func startRun(t *testing.T) *run {
	t.Helper()
	r := new(run)
	r.history = history.NewWriter(&r.file)
	r.receivers = receivers.New(receivers.Options{History: r.history, Seed: 1, Slow: 50 * time.Millisecond})
	require.NoError(t, r.receivers.Start(t.Context()))
	t.Cleanup(r.receivers.Stop)
	r.pool, r.box = setup(t)

	file, err := scenario.File(scenario.Settings{
		DatabaseURL: secret.New(pgtest.URL(t, r.pool)), GatewayListen: "127.0.0.1:0", AdminListen: "127.0.0.1:0",
		ReceiverURL: r.receivers.URL(), MailHost: "127.0.0.1", MailPort: int(r.receivers.MailAddr().Port()),
	})
	require.NoError(t, err)
	cfg, err := config.Parse("hooklatch.yaml", file, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	worker, err := app.New(t.Context(), app.Options{Config: cfg, Worker: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, worker.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, worker.Start(t.Context()))
	select {
	case <-worker.Prepared():
	case err := <-worker.Failed():
		require.NoError(t, err)
	}
	return r
}

// deliver accepts a delivery as the gateway does, and records the response that its sender would
// get.
func (r *run) deliver(t *testing.T, source string, body string, ids ...string) {
	t.Helper()
	d := outbox.Delivery{Source: identity.Source(source), Provider: "test", ContentType: "application/json", Body: []byte(body)}
	sum := sha256.Sum256(d.Body)
	told := history.Delivery{Source: source, Gateway: "test", EventIDs: ids, Hash: hex.EncodeToString(sum[:]), Signed: true, Attempt: 1}
	for i, id := range ids {
		in := outbox.Incoming{ID: identity.EventID(id), Type: "test", OccurredAt: time.Now()}
		if len(ids) > 1 {
			in.Item = fmt.Sprintf("/%d", i)
		}
		d.Events = append(d.Events, in)
	}
	op := r.history.Begin(history.Record{Who: "sender", Op: history.OpDeliver, Delivery: &told})
	a, err := r.box.Accept(t.Context(), d)
	if err != nil {
		op.End(history.Unknown, err.Error(), nil)
		return
	}
	op.End(history.OK, "", func(rec *history.Record) {
		answered := told
		answered.Status, answered.Result = 200, "duplicate"
		if a.New() > 0 {
			answered.Result = "accepted"
		}
		rec.Delivery = &answered
	})
}

var errRollback = errors.New("as intended")

func (r *run) enqueue(t *testing.T, key string, rollback bool) {
	t.Helper()
	body := []byte(`{"key":"` + key + `"}`)
	sum := sha256.Sum256(body)
	op := r.history.Begin(history.Record{Who: "application", Op: history.OpEnqueue, Enqueue: &history.Enqueue{
		Destination: "direct", Key: key, Hash: hex.EncodeToString(sum[:]), Rollback: rollback, Via: "go",
	}})
	err := pgx.BeginFunc(t.Context(), r.pool, func(tx pgx.Tx) error {
		created, err := r.box.EnqueueTx(t.Context(), tx, outbox.Enqueue{
			Destination: "direct", Key: identity.Key(key), Request: ledger.Request{ContentType: "application/json", Body: body},
		})
		if err == nil && created {
			_, err = tx.Exec(t.Context(), "INSERT INTO torture.orders_of_application (key) VALUES ($1)", key)
		}
		if err == nil && rollback {
			err = errRollback
		}
		return err
	})
	kind := history.OK
	if err != nil {
		require.ErrorIs(t, err, errRollback)
		kind = history.Fail
	}
	op.End(kind, "", nil)
}

// order runs and records an operator action.
func (r *run) order(o history.Order, do func() error) {
	op := r.history.Begin(history.Record{Who: "operator", Op: history.OpOrder, Order: &o})
	kind, text := history.OK, ""
	if err := do(); err != nil {
		kind, text = history.Fail, err.Error()
	}
	op.End(kind, text, func(rec *history.Record) {
		done := o
		done.Affected = 1
		rec.Order = &done
	})
}

// quiet waits until no work is left.
func (r *run) quiet(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var left int
		err := r.pool.QueryRow(t.Context(), `
			SELECT (SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received')
				+ (SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt'))
				+ (SELECT count(*) FROM hooklatch.river_job
					WHERE kind IN ('dispatch', 'effect')
						AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))`).Scan(&left)
		return err == nil && left == 0
	}, 2*time.Minute, 50*time.Millisecond)
}

// A run of the real packages has no violation, despite failing receivers, duplicates, operator
// actions and rollbacks. It exercises many of the rules.
func TestRealRunHasNoViolation(t *testing.T) {
	t.Parallel()
	r := startRun(t)
	by := ledger.Operator{Who: "operator", Via: "test"}
	for _, name := range []string{"app", "ordered", "latest", "careful", "mail", "direct"} {
		r.receivers.Behave(name, receivers.Random)
	}
	account := func(i int) string { return fmt.Sprintf(`{"id":"o%d","account":"a%d"}`, i, i%3) }
	for i := range 8 {
		var sending sync.WaitGroup
		sending.Go(func() { r.deliver(t, "github", fmt.Sprintf("push %d", i), fmt.Sprintf("g%d", i)) })
		sending.Go(func() { r.deliver(t, "github", fmt.Sprintf("push %d", i), fmt.Sprintf("g%d", i)) })
		sending.Go(func() { r.deliver(t, "stripe", fmt.Sprintf("charge %d", i), fmt.Sprintf("s%d", i)) })
		sending.Go(func() { r.deliver(t, "slack", fmt.Sprintf("message %d", i), fmt.Sprintf("k%d", i)) })
		sending.Go(func() { r.deliver(t, "orders", account(i), fmt.Sprintf("o%d", i)) })
		sending.Go(func() {
			ids := []string{fmt.Sprintf("b%d", i), fmt.Sprintf("b%d", i+1)} // the next round repeats the second event
			r.deliver(t, "batches", "["+strings.Join([]string{account(i), account(i + 1)}, ",")+"]", ids...)
		})
		sending.Go(func() { r.enqueue(t, fmt.Sprintf("e%d", i), i%3 == 0) })
		sending.Wait()
	}
	r.order(history.Order{Action: "pause", Destination: "app"}, func() error { return r.box.Fleet().SetPaused(t.Context(), "app", true, by) })
	r.deliver(t, "github", "while paused", "paused")
	r.order(history.Order{Action: "resume", Destination: "app"}, func() error { return r.box.Fleet().SetPaused(t.Context(), "app", false, by) })
	r.quiet(t)
	for _, name := range []string{"app", "ordered", "latest", "careful", "mail", "direct"} {
		r.receivers.Behave(name, receivers.OK)
	}
	for i := range 3 {
		ref := identity.EventRef{Source: "github", EventID: identity.EventID(fmt.Sprintf("g%d", i))}
		r.order(history.Order{Action: "replay", Source: "github", EventID: string(ref.EventID), NewKeys: i > 0}, func() error {
			_, err := r.box.Inbox().Replay(t.Context(), ref, by, inbox.ReplayOptions{NewKeys: i > 0})
			return err
		})
	}
	parked, err := r.box.Finder().Effects(t.Context(), find.Effects{States: []ledger.EffectState{ledger.EffectParked}}, find.Beginning, 0)
	require.NoError(t, err)
	for i, e := range parked.Rows {
		action, do := "retry", r.box.Ledger().Retry
		if i%3 == 0 {
			action, do = "cancel", r.box.Ledger().Cancel
		}
		r.order(history.Order{Action: action, Key: e.IdempotencyKey}, func() error { return do(t.Context(), e.IdempotencyKey, by) })
	}
	r.quiet(t)
	r.receivers.Stop()
	require.NoError(t, checker.Snapshot(t.Context(), r.pool, schema.Default, r.history))
	require.NoError(t, r.history.Flush())

	verdict, err := checker.Check(bytes.NewReader(r.file.Bytes()), checker.Options{MinAcked: 45})
	require.NoError(t, err)
	require.Empty(t, verdict.Violations, printed(t, verdict))
	require.NotEmpty(t, parked, "an at_most_once effect was in doubt")
	for _, table := range []string{"effect_transitions", "effect_attempts", "object_versions", "operator_log", "event_replays", "torture.books"} {
		require.NotZero(t, verdict.Totals.Results["row"][table], table)
	}
	require.Equal(t, verdict.Totals.Events, verdict.Totals.Decided)
}
