package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

const testSource = "stripe"

// bundle is an outbox on a separate database, with the options for a worker on it.
type bundle struct {
	pool    *pgxpool.Pool
	outbox  *outbox.Outbox
	metrics *sdkmetric.ManualReader
	logs    *syncBuffer
	opts    Options
}

// setup returns a bundle with a small pool, because each connection plans all statements again.
func setup(t *testing.T) *bundle {
	t.Helper()
	return onPool(t, pgtest.New(t, pgtest.MaxConns(5)))
}

func onPool(t *testing.T, pool *pgxpool.Pool) *bundle {
	t.Helper()
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, o.Stop(ctx))
	})
	b := &bundle{pool: pool, outbox: o, metrics: sdkmetric.NewManualReader(), logs: &syncBuffer{}}
	b.opts = Options{
		Pool:          pool,
		Outbox:        o,
		ConfigHash:    "test",
		Logger:        slog.New(tracing.LogHandler(slog.NewJSONHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.metrics)),
		SoftStop:      5 * time.Second,
	}
	return b
}

// worker returns a Worker that is not started yet. The Worker makes every attempt by a job, and
// keeps all jobs. Its limits leave time for a busy machine. bearing and ending return other Workers.
func (b *bundle) worker(t *testing.T) *Worker {
	t.Helper()
	w, err := New(b.opts)
	require.NoError(t, err)
	w.noStagger, w.births.off, w.keepsJobs = true, true, true
	w.limits = limits{announce: time.Minute, trip: time.Minute, record: time.Minute, commit: time.Minute}
	return w
}

// start starts w, stops it at the end of the test, and returns the events of its jobs.
func (b *bundle) start(t *testing.T, w *Worker) <-chan *river.Event {
	t.Helper()
	// Jobs that already wait run only after the subscription. Otherwise their events could be missed.
	rows, err := b.pool.Query(t.Context(), `UPDATE hooklatch.river_job SET scheduled_at = scheduled_at + interval '1 hour' WHERE state = 'available' RETURNING id`)
	require.NoError(t, err)
	waiting, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	events, unsubscribe := w.client.Subscribe(river.EventKindJobCancelled, river.EventKindJobCompleted,
		river.EventKindJobFailed, river.EventKindJobInterrupted, river.EventKindJobSnoozed)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET scheduled_at = scheduled_at - interval '1 hour' WHERE id = ANY($1)`, waiting)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop(t, w)
		unsubscribe()
	})
	return events
}

func stop(t *testing.T, w *Worker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	require.NoError(t, w.Stop(ctx))
}

// to adds an HTTP destination for a receiver, and a route that forwards every event there.
func (b *bundle) to(t *testing.T, receiver http.HandlerFunc, change ...func(*DestinationOptions)) {
	t.Helper()
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{
		Name: "app", URL: server.URL, Timeout: time.Minute, TracerProvider: b.opts.TracerProvider,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	d := DestinationOptions{Name: "app", Sender: sender, Retry: destination.Schedule{Initial: time.Millisecond, Jitter: -1}}
	for _, f := range change {
		f(&d)
	}
	b.opts.Destinations = append(b.opts.Destinations, d)
	b.opts.Routes = append(b.opts.Routes, route.Route{Name: "everything", From: []string{"*"}, To: "app"})
}

// fakeSender is a sender that sends nothing. Its value is its kind.
type fakeSender string

func (s fakeSender) Kind() string                               { return string(s) }
func (s fakeSender) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{} }
func (s fakeSender) Send(context.Context, *ledger.Effect) destination.Outcome {
	return destination.Outcome{}
}

// accept commits one event. handlers is true if the event's source has handlers.
func (b *bundle) accept(t *testing.T, id string, handlers bool) {
	t.Helper()
	_, err := b.outbox.Accept(t.Context(), outbox.Delivery{
		Source:      testSource,
		Provider:    "stripe",
		ContentType: "application/json",
		Headers:     map[string][]string{"X-Test": {"1"}},
		Body:        []byte(`{"id":"` + id + `","amount":5}`),
		Events:      []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
		Handlers:    handlers,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	})
	require.NoError(t, err)
}

func (b *bundle) event(t *testing.T, id string) *inbox.Event {
	t.Helper()
	e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: testSource, EventID: identity.EventID(id)})
	require.NoError(t, err)
	return e
}

// count returns the number that a query yields.
func (b *bundle) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// next waits for the next run of a job of the kind, and requires that the run ends with the wanted
// event. It skips runs of other kinds.
func next(t *testing.T, events <-chan *river.Event, kind string, want river.EventKind) *rivertype.JobRow {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case e := <-events:
			if e.Job.Kind != kind {
				continue
			}
			require.Equal(t, want, e.Kind, "errors: %v", e.Job.Errors)
			return e.Job
		case <-timeout:
			t.Fatalf("no %s of a job of kind %s", want, kind)
		}
	}
}

// outputOf returns the output that a run recorded for River UI.
func outputOf(t *testing.T, job *rivertype.JobRow) output {
	t.Helper()
	var out output
	require.NoError(t, json.Unmarshal(job.Output(), &out))
	return out
}

// counted returns the sum of the counter's points that have all the given attributes.
func (b *bundle) counted(t *testing.T, name string, attrs map[string]any) int64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, b.metrics.Collect(t.Context(), &data))
	var sum int64
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			points, ok := m.Data.(metricdata.Sum[int64])
			if m.Name != name || !ok {
				continue
			}
			for _, p := range points.DataPoints {
				matches := true
				for key, want := range attrs {
					got, found := p.Attributes.Value(attribute.Key(key))
					matches = matches && found && got.AsInterface() == want
				}
				if matches {
					sum += p.Value
				}
			}
		}
	}
	return sum
}

// lines returns the log lines with the message.
func (b *bundle) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range bytes.Lines(b.logs.bytes()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(line, &fields))
		if fields["msg"] == message {
			lines = append(lines, fields)
		}
	}
	return lines
}

// syncBuffer is a log that several goroutines may write to at the same time.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

// rescue makes the running job of the kind overdue, and makes River's rescuer run immediately.
// Normally the rescuer runs every 30 seconds, and when its process becomes the leader.
func rescue(t *testing.T, b *bundle, w *Worker, kind string) {
	t.Helper()
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'running'`, kind)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET attempted_at = attempted_at - make_interval(secs => $2)
		WHERE kind = $1 AND state = 'running'`, kind, b.opts.RescueAfter.Seconds())
	require.NoError(t, err)
	require.NoError(t, w.client.Notify().RequestResign(t.Context()))
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND metadata ? 'river:rescue_count'`, kind)
}

// waitFor polls the database until the query returns a positive number.
func waitFor(t *testing.T, b *bundle, query string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return b.count(t, query, args...) > 0 }, 2*time.Minute, 20*time.Millisecond, query)
}

// failure returns the error of a call that also reports whether it changed anything.
func failure(_ bool, err error) error { return err }
