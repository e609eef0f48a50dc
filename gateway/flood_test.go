package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/spread"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	genuine  = 200
	floodIPs = 200
)

// floodSize returns the number of forgeries that are sent before the genuine deliveries. The
// same number is sent after them.
func floodSize() int {
	if os.Getenv("HOOKLATCH_LONG") == "1" {
		return 50_000
	}
	return 2000
}

// clientFrom returns a client whose connections come from the n-th loopback address.
func clientFrom(t *testing.T, n int) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+n/200), byte(1+n%200))}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (q *quarantined) send(ctx context.Context, client *http.Client, source, key, body string) (status int, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.url+"/webhooks/"+source, strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("X-Signature", sign(key, []byte(body)))
	began := time.Now()
	response, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, time.Since(began), err
}

// forge sends n forgeries through the clients in turn, at most perSecond per second.
func (q *quarantined) forge(ctx context.Context, t *testing.T, clients []*http.Client, n int, perSecond float64) {
	t.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for range 8 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				time.Sleep(time.Until(began.Add(time.Duration(float64(i) / perSecond * float64(time.Second))))) //nolint:forbidigo // this paces real requests
				status, _, err := q.send(ctx, clients[i%len(clients)], "orders", "forged", fmt.Sprintf(`{"id":"forged_%d","type":"x"}`, i))
				if ctx.Err() == nil && (err != nil || status != http.StatusUnauthorized) {
					t.Errorf("forgery %d: %d %v", i, status, err)
					return
				}
			}
		})
	}
	workers.Wait()
}

// Unknown senders send 4,000 forgeries (100,000 with HOOKLATCH_LONG=1) while the configured
// secret is wrong. Once the secret is corrected, every genuine delivery is still in the
// quarantine and is accepted once.
func TestFloodOfForgeriesPushesNothingOutOfTheQuarantine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has loopback addresses other than 127.0.0.1")
	}
	const newKey = "rotated-secret"
	sourceWith := func(key string) []gateway.Source {
		s := source("orders", signer())
		s.Secrets = []gateway.Secret{{Value: secret.New(key)}}
		return []gateway.Source{s}
	}
	pool := pgtest.New(t, pgtest.MaxConns(10))
	q := setupQuarantined(t, pool, func(o *gateway.Options) { o.Sources = sourceWith(testSecret) })
	sender := clientFrom(t, 5000)
	status, _, err := q.send(t.Context(), sender, "orders", testSecret, `{"id":"before","type":"x"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)

	var strangers []*http.Client
	for n := range floodIPs {
		strangers = append(strangers, clientFrom(t, n))
	}
	const rate = 2000
	q.forge(t.Context(), t, strangers, floodSize(), rate)
	for n := range genuine {
		status, _, err := q.send(t.Context(), sender, "orders", newKey, fmt.Sprintf(`{"id":"evt_%d","type":"x"}`, n))
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, status)
	}
	q.forge(t.Context(), t, strangers, floodSize(), rate)
	require.NoError(t, q.keeper.Stop(t.Context()))
	require.Equal(t, genuine, q.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE known`))
	require.LessOrEqual(t, q.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`), 1000)

	require.NoError(t, q.gateway.SetSources(sourceWith(newKey)))
	for n := range 20 { // the sender repeats some of the genuine deliveries
		status, _, err := q.send(t.Context(), sender, "orders", newKey, fmt.Sprintf(`{"id":"evt_%d","type":"x"}`, n))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
	}
	accepted := 0
	var after quarantine.Mark
	for {
		page, err := q.quarantine.Next(t.Context(), quarantine.Filter{}, after, 100)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for i := range page {
			after = page[i].Mark()
			if a, err := q.gateway.AcceptAgain(t.Context(), &page[i]); err == nil {
				accepted += a.New()
				require.NoError(t, q.quarantine.Accepted(t.Context(), page[i].ID, ledger.Operator{Who: "alice", Via: "test"}))
			}
		}
	}
	require.Equal(t, genuine-20, accepted)
	require.Equal(t, genuine, q.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE starts_with(event_id, 'evt_')`))
	require.Zero(t, q.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE starts_with(event_id, 'forged')`))
	require.Zero(t, q.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE known`))
}

// Rounds of deliveries alternate between no flood and a flood of forgeries. The 99th percentile of
// the response times with the flood is at most twice the percentile without it. The test compares
// the upper end of the ratios' spread with this limit, but only with HOOKLATCH_LONG=1, on a quiet
// machine.
func TestFloodOfForgeriesDelaysNobody(t *testing.T) { //nolint:paralleltest // no other test may run while it measures
	long := os.Getenv("HOOKLATCH_LONG") == "1"
	if !long { // a measurement needs the machine to itself
		t.Parallel()
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has loopback addresses other than 127.0.0.1")
	}
	rounds, each, rate := 1, 200, 500.0
	if long {
		rounds, each, rate = 41, 2000, 2000
	}
	q := setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", signer())} })
	sender := clientFrom(t, 5000)
	var strangers []*http.Client
	for n := range floodIPs {
		strangers = append(strangers, clientFrom(t, n))
	}
	p99 := func(round int, flooded bool) float64 { // in milliseconds
		ctx, cancel := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		if flooded {
			flood.Go(func() { q.forge(ctx, t, strangers, 1<<30, rate) })
		}
		var took []time.Duration
		for n := range each {
			body := fmt.Sprintf(`{"id":"evt_%d_%d_%t","type":"x"}`, round, n, flooded)
			status, one, err := q.send(t.Context(), sender, "orders", testSecret, body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			took = append(took, one)
		}
		cancel()
		flood.Wait()
		slices.Sort(took)
		return float64(took[len(took)*99/100].Microseconds()) / 1000
	}
	p99(-1, false)
	var quiet, busy, times []float64
	for round := range rounds {
		q, b := p99(round, false), p99(round, true)
		quiet, busy, times = append(quiet, q), append(busy, b), append(times, b/q)
	}
	without, with, ratio := spread.Of(quiet), spread.Of(busy), spread.Of(times)
	t.Logf("p99 of %d rounds without the flood %.2f ms (%.2f..%.2f), with it %.2f ms (%.2f..%.2f), %.2fx (%.2f..%.2f)",
		rounds, without.Median, without.Low, without.High, with.Median, with.Low, with.High, ratio.Median, ratio.Low, ratio.High)
	if long {
		require.LessOrEqual(t, ratio.High, 2.0)
	}
}
