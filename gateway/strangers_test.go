package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
)

// strangerAddress returns the n-th address of an attack. Four addresses in a row are in the same
// /24 network, so a few addresses share a network and many addresses span many networks.
func strangerAddress(n int) string { return fmt.Sprintf("198.%d.%d.%d", 18+n/1000, n/4%250, 1+n%4) }

// attack begins deliveries that never arrive: a header, one byte, then nothing. It uses the given
// numbers of threads and addresses, and each of the sources in turn. A thread whose delivery is
// refused begins the next one. The counter begun counts the deliveries, and wait returns when all
// threads have stopped.
func (b *testBundle) attack(ctx context.Context, t *testing.T, threads, addresses int, sources ...string) (begun *atomic.Int64, wait func()) {
	t.Helper()
	begun = new(atomic.Int64)
	var attackers sync.WaitGroup
	for range threads {
		attackers.Go(func() {
			for ctx.Err() == nil {
				n := int(begun.Add(1))
				b.hang(ctx, sources[n%len(sources)], strangerAddress(n%addresses))
			}
		})
	}
	return begun, attackers.Wait
}

// hang begins one delivery and returns when the gateway ends it.
func (b *testBundle) hang(ctx context.Context, source, address string) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.gateway.Addr().String())
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = fmt.Fprintf(conn, "POST /webhooks/%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: 100000\r\n\r\n{", source, address)
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn))
}

const (
	knownSender   = "203.0.113.77" // had an accepted delivery before the attack
	unknownSender = "192.0.2."     // prefix of addresses without an accepted delivery
)

// Unknown senders at 5, 50 and 500 addresses open deliveries that never arrive, to any source. The
// gateway still accepts all deliveries of a known sender. It also accepts the deliveries of a
// genuine sender at an unknown address if their bodies arrive in one piece.
func TestHangingBodiesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKLATCH_LONG") == "1" {
		t.Skip("TestHangingBodiesDelayNobody needs the machine to itself")
	}
	for _, addresses := range []int{5, 50, 500} {
		for name, attacked := range map[string][]string{
			"one source": {"orders"}, "two sources": {"orders", "refunds"}, "all sources": {"orders", "refunds", "payments"},
		} {
			t.Run(fmt.Sprintf("%d addresses, %s", addresses, name), func(t *testing.T) {
				t.Parallel()
				b := setup(t, func(o *gateway.Options) {
					behindProxy(o)
					o.MaxInFlight = 32
					o.Logger = slog.New(slog.DiscardHandler)
					o.Sources = append(o.Sources, source("refunds", signer()), source("payments", signer()))
				})
				require.Equal(t, http.StatusOK, b.post(t, "payments", event("before", 100), forwardedFor(knownSender)).status)
				ctx, cancel := context.WithCancel(t.Context())
				begun, ended := b.attack(ctx, t, 100, addresses, attacked...)
				require.Eventually(t, func() bool { return begun.Load() > 600 }, 2*time.Minute, time.Millisecond, "refused deliveries are not followed by new ones")
				for n := range 20 {
					require.Equal(t, http.StatusOK, b.post(t, "payments", event(fmt.Sprint("k", n), 2000), forwardedFor(knownSender)).status, "known, delivery %d", n)
					require.Equal(t, http.StatusOK, b.post(t, "payments", event(fmt.Sprint("u", n), 2000), forwardedFor(unknownSender+strconv.Itoa(n+1))).status, "unknown, delivery %d", n)
				}
				cancel()
				ended()
				b.requireInFlight(t, 0)
			})
		}
	}
}

// TestHangingBodiesDelayNobody attacks for three minutes from each number of addresses, and
// measures latency. The 99th percentile of a known sender's latency is at most five times its
// value without the attack, or at most 250 ms if that is more.
func TestHangingBodiesDelayNobody(t *testing.T) { //nolint:paralleltest // it measures
	if os.Getenv("HOOKLATCH_LONG") != "1" {
		t.Skip("set HOOKLATCH_LONG=1 on a quiet machine: the test measures for ten minutes")
	}
	for _, addresses := range []int{5, 50, 500} { //nolint:paralleltest // it measures
		t.Run(strconv.Itoa(addresses), func(t *testing.T) {
			b := setup(t, func(o *gateway.Options) {
				behindProxy(o)
				o.Logger = slog.New(slog.DiscardHandler)
				o.TracerProvider = nil // the recorder of the tests would keep 650,000 spans, 4 GB
				o.Sources = append(o.Sources, source("refunds", signer()), source("payments", signer()))
			})
			p99 := func(phase string, lasts time.Duration) time.Duration {
				var took []time.Duration
				for began := time.Now(); time.Since(began) < lasts; {
					sent := time.Now()
					body := event(fmt.Sprint(phase, len(took)), 2000)
					require.Equal(t, http.StatusOK, b.post(t, "payments", body, forwardedFor(knownSender)).status, "delivery %d", len(took))
					took = append(took, time.Since(sent))
					time.Sleep(10 * time.Millisecond) //nolint:forbidigo // this paces real requests
				}
				slices.Sort(took)
				return took[len(took)*99/100]
			}
			quiet := p99("quiet", 10*time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			begun, ended := b.attack(ctx, t, 1200, addresses, "orders", "refunds")
			attacked := p99("attacked", 3*time.Minute)
			cancel()
			ended()
			t.Logf("p99 %v without, %v with %d deliveries that never arrived from %d addresses", quiet, attacked, begun.Load(), addresses)
			require.LessOrEqual(t, attacked, max(5*quiet, 250*time.Millisecond))
		})
	}
}
