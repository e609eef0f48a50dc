package senders_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/senders"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// enough is a time limit for a busy machine.
const enough = 2 * time.Minute

type testBundle struct {
	*senders.Senders

	pool *pgxpool.Pool
	file bytes.Buffer
	save *history.Writer
}

// setup creates senders to two gateways on one database. The second gateway refuses some requests
// and cuts some responses: see failing.
func setup(t *testing.T, rate float64) *testBundle {
	t.Helper()
	b := &testBundle{pool: pgtest.New(t)}
	box, err := outbox.New(outbox.Options{Pool: b.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.WithoutCancel(t.Context()))) })
	var sources []gateway.Source
	for _, s := range scenario.Sources() {
		p, err := catalog.New(s.Provider, s.Options)
		require.NoError(t, err)
		sources = append(sources, gateway.Source{Name: s.Name, Provider: p, Secrets: []gateway.Secret{{Value: s.Secret}}, Handlers: s.Handlers})
	}
	gateways := make([]senders.Gateway, 0, 2)
	for i, name := range []string{"gateway-1", "gateway-2"} {
		g, err := gateway.New(gateway.Options{Accepter: box, Sources: sources})
		require.NoError(t, err)
		handler := g.Handler()
		if i == 1 {
			handler = &failing{next: handler}
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		gateways = append(gateways, senders.Gateway{Name: name, URL: server.URL})
	}
	b.save = history.NewWriter(&b.file)
	b.Senders, err = senders.New(senders.Options{History: b.save, Gateways: gateways, Seed: 7, Rate: rate, Haste: 1, MaxWait: 100 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Stop(context.WithoutCancel(t.Context()))) })
	return b
}

// failing answers some requests with 503, and cuts the response to others.
type failing struct {
	next http.Handler
	n    atomic.Int64
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch n := f.n.Add(1); {
	case n%5 == 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case n%7 == 0:
		f.next.ServeHTTP(&mute{w}, r)
		panic(http.ErrAbortHandler)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// mute suppresses the whole response.
type mute struct{ http.ResponseWriter }

func (*mute) WriteHeader(int)                   {}
func (*mute) Write(p []byte) (int, error)       { return len(p), nil }
func (*mute) Header() http.Header               { return http.Header{} }
func (m *mute) Unwrap() http.ResponseWriter     { return m.ResponseWriter }
func (*mute) ReadFrom(io.Reader) (int64, error) { return 0, nil }

// finish waits until all events are acknowledged, and returns the ends of the deliveries.
func (b *testBundle) finish(t *testing.T) []history.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	require.NoError(t, b.Stop(ctx))
	require.Zero(t, b.Open())
	require.Zero(t, b.InFlight())
	require.NoError(t, b.save.Flush())
	begun := 0
	var ends []history.Record
	for r, err := range history.Read(&b.file) {
		require.NoError(t, err)
		require.Equal(t, history.OpDeliver, r.Op)
		if r.Kind == history.Invoke {
			begun++
			continue
		}
		ends = append(ends, r)
	}
	require.Len(t, ends, begun, "every delivery has an end")
	return ends
}

func (b *testBundle) acked(t *testing.T, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Acked() >= n }, enough, 5*time.Millisecond)
}

type keyOf struct{ source, id string }

// stored returns the hash of each event's body in the database.
func (b *testBundle) stored(t *testing.T) map[keyOf]string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT e.source, e.event_id, encode(sha256(d.body), 'hex')
		FROM hooklatch.processed_events e JOIN hooklatch.deliveries d ON d.delivery_id = e.delivery_id`)
	require.NoError(t, err)
	found := make(map[keyOf]string)
	var key keyOf
	var hash string
	_, err = pgx.ForEachRow(rows, []any{&key.source, &key.id, &hash}, func() error {
		found[key] = hash
		return nil
	})
	require.NoError(t, err)
	return found
}

func TestEveryEventIsSentUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	b := setup(t, 300)
	b.Start()
	b.acked(t, 600)
	require.Positive(t, b.AckedInLast(10*time.Second))
	ends := b.finish(t)
	require.Equal(t, int64(len(slices.DeleteFunc(slices.Clone(ends), func(r history.Record) bool { return r.Kind != history.OK }))), b.Acked())

	stored := b.stored(t)
	signed, acknowledged, kinds, texts := make(map[keyOf][]string), make(map[keyOf]bool), make(map[history.Kind]int), make(map[string]int)
	for _, r := range ends {
		d := r.Delivery
		kinds[r.Kind]++
		texts[strings.TrimSuffix(d.Source+" "+r.Text, " ")]++
		require.Len(t, d.Hash, hex.EncodedLen(32))
		for _, id := range d.EventIDs {
			key := keyOf{d.Source, id}
			if d.Signed {
				signed[key] = append(signed[key], d.Hash)
			}
			acknowledged[key] = acknowledged[key] || r.Kind == history.OK
		}
		switch {
		case !d.Signed:
			require.NotEqual(t, history.OK, r.Kind, "%+v", d)
			if r.Kind == history.Fail {
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusNotFound}, d.Status)
			}
		case r.Kind == history.OK:
			require.Contains(t, []string{"accepted", "duplicate"}, d.Result)
		case r.Kind == history.Fail:
			// The sender cut the body.
			require.Equal(t, http.StatusBadRequest, d.Status, "%+v %s", d, r.Text)
		}
	}
	for key, hash := range stored {
		require.Contains(t, signed[key], hash, "%v is stored with a body that a sender signed", key)
	}
	for key := range signed {
		if key.source != "github" { // GitHub sends only once
			require.True(t, acknowledged[key], "%v", key)
		}
		if acknowledged[key] {
			require.Contains(t, stored, key)
		}
	}
	require.Positive(t, kinds[history.Unknown])
	t.Logf("%d events, %v", len(stored), kinds)
}

// The bodies have the shapes of all sources. The events of accounts have a group and a version.
func TestBodiesHaveTheirShapes(t *testing.T) {
	t.Parallel()
	b := setup(t, 300)
	b.Poison(t.Context(), 5)
	b.Start()
	b.acked(t, 600)
	sources, most, versions, forged := make(map[string]int), 0, make(map[string]bool), 0
	shared := make(map[string]map[string]bool)
	for _, r := range b.finish(t) {
		d := r.Delivery
		if !d.Signed {
			forged++
			continue
		}
		sources[d.Source]++
		most = max(most, len(d.EventIDs))
		if d.Source == "orders" {
			require.NotEmpty(t, d.Group)
			require.Positive(t, d.Version)
			versions[d.Group] = versions[d.Group] || d.Version > 1
		}
		if d.Source == "batches" {
			for _, id := range d.EventIDs {
				if shared[id] == nil {
					shared[id] = make(map[string]bool)
				}
				shared[id][d.EventIDs[len(d.EventIDs)-1]] = true
			}
		}
	}
	for _, s := range scenario.Sources() {
		require.Positive(t, sources[s.Name], s.Name)
	}
	require.Greater(t, most, 10)
	require.Positive(t, forged)
	require.Greater(t, len(versions), 20)
	require.Contains(t, versions, "acc_1")
	several := 0
	for _, deliveries := range shared {
		if len(deliveries) > 1 {
			several++
		}
	}
	require.Positive(t, several, "some items are in several batches")
}

func TestStormIsOneEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.Storm(t.Context(), 100)
	accepted, ids := 0, make(map[string]bool)
	ends := b.finish(t)
	require.GreaterOrEqual(t, len(ends), 100)
	for _, r := range ends {
		for _, id := range r.Delivery.EventIDs {
			ids[id] = true
		}
		if r.Delivery.Result == "accepted" {
			accepted++
		}
	}
	require.LessOrEqual(t, accepted, 1, "none if the accepting response was cut")
	require.Len(t, b.stored(t), len(ids))
}

func TestOnlyDuplicatesBringNothingNew(t *testing.T) {
	t.Parallel()
	b := setup(t, 300)
	b.Start()
	b.acked(t, 100)
	b.OnlyDuplicates(true)
	// All open events end first.
	require.Eventually(t, func() bool { return b.Open() == 0 }, enough, 5*time.Millisecond)
	// A sender that does not retry may have hung up on a request that the gateway is still
	// processing.
	var before map[keyOf]string
	require.Eventually(t, func() bool {
		before = b.stored(t)
		b.acked(t, b.Acked()+200)
		return maps.Equal(before, b.stored(t))
	}, enough, time.Millisecond)
	b.OnlyDuplicates(false)
	require.Eventually(t, func() bool { return len(b.stored(t)) > len(before) }, enough, 50*time.Millisecond)
	b.finish(t)
}

// No delivery is ever acknowledged. Stop still ends, and returns an error.
func TestStopGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(away.Close)
	b := &testBundle{}
	b.save = history.NewWriter(&b.file)
	var err error
	b.Senders, err = senders.New(senders.Options{
		History: b.save, Gateways: []senders.Gateway{{Name: "away", URL: away.URL}}, Rate: 500, MaxOpen: 20,
	})
	require.NoError(t, err)
	b.Start()
	require.Eventually(t, func() bool { return b.Open() == 20 }, enough, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, b.Stop(ctx), "events were not acknowledged")
	require.NoError(t, b.Stop(t.Context()))
	require.Zero(t, b.Acked())
}
