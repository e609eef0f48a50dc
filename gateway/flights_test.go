package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
)

// behindProxy makes the gateway trust loopback addresses as proxies, so that a test can choose
// a client's address with X-Forwarded-For.
func behindProxy(o *gateway.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// dribble begins a delivery from an address and sends a part of its body. At the minimum rate that
// setup configures, the rest may take two minutes.
func (b *testBundle) dribble(t *testing.T, source, address string) net.Conn {
	t.Helper()
	conn := b.dial(t)
	write(t, conn, fmt.Sprintf("POST /webhooks/%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: 1000\r\n\r\n%s", source, address, strings.Repeat("x", 120)))
	return conn
}

func (b *testBundle) requireInFlight(t *testing.T, want int64) {
	t.Helper()
	require.Eventually(t, func() bool { return b.counts(t, "hooklatch.inflight")[""] == want }, 2*time.Minute, time.Millisecond)
}

func forwardedFor(address string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Forwarded-For", address) }
}

// pauseCommits holds a source's commits until release is called. requireHeld waits until want
// commits are held: their deliveries are verified and have their slots.
func (b *testBundle) pauseCommits(t *testing.T, source string) (requireHeld func(want int), release func()) {
	t.Helper()
	paused := make(chan struct{})
	release = sync.OnceFunc(func() { close(paused) })
	t.Cleanup(release)
	var held atomic.Int64
	b.accepter.before = func(_ context.Context, d outbox.Delivery) error {
		if string(d.Source) == source {
			held.Add(1)
			<-paused
		}
		return nil
	}
	return func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { return held.Load() == int64(want) }, 2*time.Minute, time.Millisecond)
	}, release
}

// postUntilAccepted retries like a sender: the gateway may refuse a delivery while the machine
// stalls.
func (b *testBundle) postUntilAccepted(t *testing.T, source, body string) {
	for status := 0; status != http.StatusOK; {
		status = b.post(t, source, body).status
	}
}

// refusedFor reports whether a delivery was refused for the given reason. Other deliveries may
// have been refused because the machine stalled.
func (b *testBundle) refusedFor(t *testing.T, reason string) bool {
	t.Helper()
	return slices.ContainsFunc(b.logs.lines(t, "delivery not accepted"), func(line map[string]any) bool { return line["reason"] == reason })
}

// A source whose commits wait may use half of all slots. The other half is left to the other
// sources.
func TestOneSourceCannotTakeAllPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		o.MaxInFlight = 8
		o.Sources = append(o.Sources, source("payments", signer()))
	})
	requireHeld, release := b.pauseCommits(t, "orders")
	var waiting sync.WaitGroup
	for i := range 4 {
		waiting.Go(func() { b.postUntilAccepted(t, "orders", event(strconv.Itoa(i), 100)) })
		requireHeld(i + 1)
	}
	for !b.refusedFor(t, "overload_source") {
		requireUnavailable(t, b.dribble(t, "orders", "203.0.113.9"))
	}
	b.postUntilAccepted(t, "payments", event("a", 100))
	release()
	waiting.Wait()
}

// firstAnswered returns a reader of the connection on which a response arrives first.
func firstAnswered(conns ...net.Conn) *bufio.Reader {
	answered := make(chan *bufio.Reader, len(conns))
	for _, conn := range conns {
		go func() {
			from := bufio.NewReader(conn)
			_, _ = from.Peek(1) // the caller reads the response, or the error
			answered <- from
		}()
	}
	return <-answered
}

// One address (an IPv4 address, or the /64 network of one IPv6 subscriber) may have a share of
// the arriving deliveries. Beyond the share, a new delivery evicts the address's slowest one.
func TestOneAddressCannotTakeAllPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, first, second, same, other string }{
		{"IPv4", "203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.2"},
		{"IPv6", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::3", "2001:db8:0:2::1"},
		{"IPv4 as IPv6", "203.0.113.1", "::ffff:203.0.113.1", "::ffff:203.0.113.1", "::ffff:203.0.113.2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *gateway.Options) {
				behindProxy(o)
				o.MaxInFlight, o.MaxUnprovenPerAddress = 100, 3
				o.Sources = append(o.Sources, source("payments", signer()))
			})
			first := b.dribble(t, "orders", test.first)
			b.requireInFlight(t, 1)
			second := b.dribble(t, "orders", test.second)
			b.requireInFlight(t, 2)
			b.dribble(t, "orders", test.same)
			requireUnavailable(t, firstAnswered(first, second)) // a busy machine may read the second body first
			require.True(t, b.refusedFor(t, "overload_slow"))
			b.requireInFlight(t, 2)
			require.Equal(t, http.StatusOK, b.post(t, "orders", event("a", 100), forwardedFor(test.other)).status, "another address")
			require.Equal(t, http.StatusOK, b.post(t, "payments", event("b", 100), forwardedFor(test.same)).status, "another source")
			require.Equal(t, http.StatusOK, b.post(t, "orders", event("c", 100), forwardedFor(test.same)).status, "the same source")
		})
	}
}

// A verified delivery no longer counts against its address: more verified deliveries than
// MaxUnprovenPerAddress may wait for their commits.
func TestProvenDeliveryGivesThePlaceOfItsAddressBack(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxUnprovenPerAddress = 2 })
	requireHeld, release := b.pauseCommits(t, "orders")
	var sending sync.WaitGroup
	for i := range 5 {
		sending.Go(func() { b.postUntilAccepted(t, "orders", event(strconv.Itoa(i), 100)) })
		requireHeld(i + 1)
	}
	release()
	sending.Wait()
	b.requireInFlight(t, 0)
}

// Bodies that never arrive take no commit slots, however many there are.
func TestArrivingBodiesTakeNoPlaceOfACommit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		behindProxy(o)
		o.MaxInFlight, o.MaxArriving = 1, 100
	})
	for n := range 20 {
		b.dribble(t, "orders", fmt.Sprintf("198.18.%d.1", n))
	}
	b.requireInFlight(t, 20)
	require.Equal(t, http.StatusOK, b.post(t, "orders", event("a", 100), forwardedFor("203.0.113.9")).status)
}

// A body that arrives too slowly is cut off after two seconds, long before ReadTimeout. A body
// that arrives at the required rate is not.
func TestBodyMustBringTheMinimumRate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MinBodyRate = 50 })
	began := time.Now()
	silent := b.upload(t, "orders", 100, 1)
	steady := b.dial(t)
	body := event("a", 1000)
	write(t, steady, fmt.Sprintf("POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Signature: %s\r\nContent-Length: 1000\r\n\r\n%s", sign(testSecret, []byte(body)), body[:900]))
	go func() { drip(steady, body[900:], 45*time.Millisecond) }() // takes 4.5 s; at 50 bytes per second, the body may take 22 s

	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, bufio.NewReader(silent)).StatusCode)
	took := time.Since(began)
	require.Greater(t, took, 1900*time.Millisecond)
	if os.Getenv("HOOKLATCH_LONG") != "" {
		require.Less(t, took, 4*time.Second)
	}
	require.Equal(t, http.StatusOK, statusOf(t, bufio.NewReader(steady)).StatusCode)
	require.Greater(t, time.Since(began), 4*time.Second)
}
