package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// besieged is a gateway with small pools, and a known sender for each source.
type besieged struct {
	*quarantined

	fetched *fetches
}

// fetches counts a gateway's requests to a provider. It responds with 404, but only after
// answer has been called.
type fetches struct {
	may      chan struct{}
	asked    atomic.Int64
	paths    sync.Map // requested paths
	underway atomic.Int64
	answer   func()
}

// RoundTrip implements http.RoundTripper.
func (f *fetches) RoundTrip(r *http.Request) (*http.Response, error) {
	f.underway.Add(1)
	defer f.underway.Add(-1)
	f.paths.Store(r.URL.Path, true)
	f.asked.Add(1)
	select {
	case <-f.may:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
}

// askedForCertificate reports whether the gateway requested the certificate of transmission n.
func (f *fetches) askedForCertificate(n int) bool {
	_, asked := f.paths.Load(fmt.Sprintf("/v1/notifications/certs/CERT-%d", n))
	return asked
}

// stuck returns a provider whose Verify blocks on an unsigned request until the deadline of the
// verification.
func stuck() *provider.Provider {
	p := signer()
	verify := p.Verify
	p.Verify = func(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
		if r.Header.Get("X-Signature") == "" {
			<-ctx.Done()
		}
		return verify(ctx, r, secrets, now)
	}
	return p
}

func besiege(t *testing.T) *besieged {
	t.Helper()
	f := &fetches{may: make(chan struct{})}
	f.answer = sync.OnceFunc(func() { close(f.may) })
	t.Cleanup(func() {
		f.answer() // a fetch that begins later ends immediately
		require.Eventually(t, func() bool { return f.underway.Load() == 0 }, 2*time.Minute, time.Millisecond)
	})
	paypal, err := catalog.New("paypal", provider.Options{Fetch: f})
	require.NoError(t, err)
	b := &besieged{fetched: f, quarantined: setupQuarantined(t, pgtest.New(t), func(o *gateway.Options) {
		o.MaxInFlight, o.MaxArriving, o.MaxConnections = 40, 40, 4000
		o.MaxBody, o.MaxBuffered = mib, 16*mib
		o.Sources = []gateway.Source{
			source("orders", stuck()), source("payments", stuck()), source("refunds", stuck()),
			{Name: "paypal", Provider: paypal, Secrets: []gateway.Secret{{Value: secret.New("8PT597110X687430LKGECATA")}}},
		}
		behindProxy(o)
	})}
	for _, name := range []string{"orders", "payments", "refunds", "paypal"} {
		b.keeper.Accepted(identity.Source(name), netip.MustParsePrefix(knownSender+"/32"))
	}
	return b
}

// fill calls one for each of 500 addresses of unknown senders. It returns when the result of taken,
// the number of used slots, no longer changes.
func fill(t *testing.T, one func(n int), taken func() int64) {
	t.Helper()
	for n := range 500 {
		one(n)
	}
	last, since := int64(-1), 0
	require.Eventually(t, func() bool {
		if now := taken(); now != last {
			last, since = now, 0
		}
		since++
		return last > 0 && since > 5
	}, 2*time.Minute, 10*time.Millisecond, "the unknown senders took no slot")
}

// Unknown senders at 200 to 500 addresses fill each pool that they share with known senders. The
// pool still has room for a known sender.
func TestNoPoolIsTakenByStrangers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has loopback addresses other than 127.0.0.1")
	}
	inFlight := func(t *testing.T, b *besieged) func() int64 {
		return func() int64 { return b.counts(t, "hooklatch.inflight")[""] }
	}
	forged := func(t *testing.T, b *besieged, source, address, more, body string) net.Conn {
		conn := b.dial(t)
		write(t, conn, fmt.Sprintf("POST /webhooks/%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n%sContent-Length: %d\r\n\r\n%s", source, address, more, len(body), body))
		return conn
	}
	accepted := func(t *testing.T, b *besieged, size int) {
		t.Helper()
		require.Equal(t, http.StatusOK, b.post(t, "orders", event("genuine", size), forwardedFor(knownSender)).status)
	}
	transmission := func(n int) string {
		return fmt.Sprintf("Paypal-Transmission-Id: a\r\nPaypal-Transmission-Time: %s\r\nPaypal-Transmission-Sig: AAAA\r\nPaypal-Auth-Algo: SHA256withRSA\r\n"+
			"Paypal-Cert-Url: https://api.paypal.com/v1/notifications/certs/CERT-%d\r\n", time.Now().UTC().Format(time.RFC3339), n)
	}
	for _, pool := range []struct {
		name  string
		fill  func(t *testing.T, b *besieged)
		holds func(t *testing.T, b *besieged) // checks that a known sender gets its slots
	}{
		{
			name: "bodies that arrive",
			fill: func(t *testing.T, b *besieged) {
				fill(t, func(n int) { b.dribble(t, []string{"orders", "payments", "refunds"}[n%3], strangerAddress(n)) }, inFlight(t, b))
			},
			holds: func(t *testing.T, b *besieged) {
				body := event("genuine", 1000)
				conn := b.dial(t)
				write(t, conn, fmt.Sprintf("POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nX-Signature: %s\r\nContent-Length: 1000\r\n\r\n%s",
					knownSender, sign(testSecret, []byte(body)), body[:500]))
				for n := range 100 { // each evicts a body, but never a known sender's
					b.dribble(t, "orders", strangerAddress(n))
				}
				write(t, conn, body[500:])
				require.Equal(t, http.StatusOK, statusOf(t, bufio.NewReader(conn)).StatusCode)
			},
		},
		{
			name: "places of a commit",
			fill: func(t *testing.T, b *besieged) {
				for n := range 500 {
					forged(t, b, []string{"orders", "payments", "refunds"}[n%3], strangerAddress(n), "", "{}")
				}
			},
			holds: func(t *testing.T, b *besieged) { accepted(t, b, 100) },
		},
		{
			name: "places of one source",
			fill: func(t *testing.T, b *besieged) {
				for n := range 500 {
					forged(t, b, "orders", strangerAddress(n), "", "{}")
				}
			},
			holds: func(t *testing.T, b *besieged) { accepted(t, b, 100) },
		},
		{
			name: "memory for bodies",
			fill: func(t *testing.T, b *besieged) {
				fill(t, func(n int) {
					go func() { // the gateway cuts the body off at some point
						conn, err := net.Dial("tcp", b.gateway.Addr().String())
						if err != nil {
							return
						}
						t.Cleanup(func() { _ = conn.Close() })
						_, _ = fmt.Fprintf(conn, "POST /webhooks/%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n\r\n%s",
							[]string{"orders", "payments", "refunds"}[n%3], strangerAddress(n), mib, strings.Repeat("x", 700*kib))
					}()
				}, func() int64 { return b.counts(t, "hooklatch.buffered")[""] })
			},
			holds: func(t *testing.T, b *besieged) { accepted(t, b, mib) },
		},
		{
			name: "connections",
			fill: func(t *testing.T, b *besieged) {
				strange := setup(t, func(o *gateway.Options) { o.MaxConnections, o.Quarantine = 100, b.keeper })
				b.testBundle = strange
				b.keeper.Accepted("orders", netip.MustParsePrefix("127.77.0.1/32"))
				fill(t, func(n int) { openFrom(t, b, fmt.Sprintf("127.%d.%d.1", 1+n/200, n%200)) },
					func() int64 { return b.counts(t, "hooklatch.connections")[""] })
			},
			holds: func(t *testing.T, b *besieged) {
				for range 20 {
					conn := openFrom(t, b, "127.77.0.1")
					write(t, conn, "GET /webhooks/orders HTTP/1.1\r\nHost: x\r\n\r\n")
					require.Equal(t, http.StatusMethodNotAllowed, statusOf(t, bufio.NewReader(conn)).StatusCode)
				}
			},
		},
		{
			name: "questions to a provider",
			fill: func(t *testing.T, b *besieged) {
				b.fetched.answer()
				for n := range 200 {
					conn := forged(t, b, "paypal", strangerAddress(n), transmission(n), `{"id":"a"}`)
					statusOf(t, bufio.NewReader(conn))
				}
			},
			holds: func(t *testing.T, b *besieged) {
				statusOf(t, bufio.NewReader(forged(t, b, "paypal", knownSender, transmission(1000), `{"id":"a"}`)))
				require.True(t, b.fetched.askedForCertificate(1000))
			},
		},
		{
			name: "questions at one time",
			fill: func(t *testing.T, b *besieged) {
				fill(t, func(n int) { forged(t, b, "paypal", strangerAddress(n), transmission(n), `{"id":"a"}`) }, b.fetched.asked.Load)
			},
			holds: func(t *testing.T, b *besieged) {
				forged(t, b, "paypal", knownSender, transmission(1000), `{"id":"a"}`)
				require.Eventually(t, func() bool { return b.fetched.askedForCertificate(1000) }, 2*time.Minute, time.Millisecond)
			},
		},
		{
			name: "the writer of the quarantine",
			fill: func(t *testing.T, b *besieged) {
				for n := range 500 {
					statusOf(t, bufio.NewReader(forged(t, b, "refunds", strangerAddress(n), "X-Signature: 00\r\n", "{}")))
				}
			},
			holds: func(t *testing.T, b *besieged) {
				statusOf(t, bufio.NewReader(forged(t, b, "refunds", knownSender, "X-Signature: 00\r\n", `{"id":"genuine"}`)))
				require.NoError(t, b.keeper.Stop(t.Context()))
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries WHERE known`))
			},
		},
	} {
		t.Run(pool.name, func(t *testing.T) {
			t.Parallel()
			b := besiege(t)
			pool.fill(t, b)
			pool.holds(t, b)
		})
	}
}

// openFrom opens a connection from a loopback address.
func openFrom(t *testing.T, b *besieged, address string) net.Conn {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", b.gateway.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
