package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// budgeted returns a gateway with 8 MiB of memory for bodies and two sources, which accept
// bodies of up to 4 MiB.
func budgeted(t *testing.T) *testBundle {
	t.Helper()
	return setup(t, func(o *gateway.Options) {
		o.MaxBuffered, o.MaxBody = 8*mib, 4*mib
		o.Sources = append(o.Sources, source("payments", signer()))
	})
}

// event returns a body of the given size.
func event(id string, size int) string {
	head := fmt.Sprintf(`{"id":%q,"type":"x","padding":"`, id)
	return head + strings.Repeat("x", size-len(head)-2) + `"}`
}

// upload begins a body with a declared length and sends some of it. The first bytes come with the
// header: a body without any byte is cut off after two seconds.
func (b *testBundle) upload(t *testing.T, source string, declared, sent int) net.Conn {
	t.Helper()
	conn := b.dial(t)
	write(t, conn, fmt.Sprintf("POST /webhooks/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", source, declared, strings.Repeat("x", sent)))
	return conn
}

// requireBuffered waits until want bytes of the budget are reserved.
func (b *testBundle) requireBuffered(t *testing.T, want int64) {
	t.Helper()
	require.Eventually(t, func() bool { return b.counts(t, "hooklatch.buffered")[""] == want }, 2*time.Minute, time.Millisecond,
		"%d bytes are reserved, not %d", b.counts(t, "hooklatch.buffered")[""], want)
}

// acquaint delivers once to each source, so that the test's own address is known.
func (b *testBundle) acquaint(t *testing.T, sources ...string) {
	t.Helper()
	for _, name := range sources {
		require.Equal(t, http.StatusOK, b.post(t, name, event("acquaint", 100)).status)
	}
}

func requireUnavailable(t *testing.T, from io.Reader) {
	t.Helper()
	response := statusOf(t, bufio.NewReader(from))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.True(t, response.Close)
}

// The declared length of a body is reserved only after the first MiB has arrived.
func TestBodyIsReservedAsItArrives(t *testing.T) {
	t.Parallel()
	b := budgeted(t)
	conn := b.upload(t, "orders", 4*mib, 100)
	require.Eventually(t, func() bool { return b.counts(t, "hooklatch.inflight")[""] == 1 }, 2*time.Minute, time.Millisecond)
	b.requireBuffered(t, 0)
	write(t, conn, strings.Repeat("x", 100*kib-100))
	b.requireBuffered(t, 128*kib-64*kib)
	write(t, conn, strings.Repeat("x", 900*kib))
	b.requireBuffered(t, mib-64*kib)
	write(t, conn, strings.Repeat("x", 100*kib))
	b.requireBuffered(t, 4*mib-64*kib)
	require.NoError(t, conn.Close())
	b.requireBuffered(t, 0)
}

// LargeBody is called before the memory is allocated, so that the process can prepare for it.
func TestLargeBodyIsToldBeforeItTakesMemory(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	b := setup(t, func(o *gateway.Options) { o.MaxBody, o.LargeBody = 4*mib, func() { told.Add(1) } })
	post := func(size int) {
		b.post(t, "orders", fmt.Sprintf(`{"id":"%d","type":"x","padding":"%s"}`, size, strings.Repeat("x", size)))
	}
	post(200 * kib)
	require.Zero(t, told.Load())
	post(300 * kib)
	require.Positive(t, told.Load())
}

func TestChunkedBodyIsReservedInSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxBuffered, o.MaxBody = 20*mib, 10*mib })
	conn := b.dial(t)
	chunk := func(size int) string { return fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size)) }
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(64*kib))
	b.requireBuffered(t, 0)
	write(t, conn, chunk(mib))
	b.requireBuffered(t, 5*mib-64*kib)
	write(t, conn, chunk(4*mib))
	b.requireBuffered(t, 9*mib-64*kib)
	write(t, conn, chunk(4*mib))
	b.requireBuffered(t, 10*mib-64*kib)
	write(t, conn, chunk(mib))
	require.Equal(t, http.StatusRequestEntityTooLarge, statusOf(t, bufio.NewReader(conn)).StatusCode)
	b.requireBuffered(t, 0)
}

// One source takes its half of the memory. Its next large body is refused before it is read.
// The other sources, and the source's own ordinary deliveries, are not affected.
func TestSourceTakesHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	b := budgeted(t)
	b.acquaint(t, "payments")
	held := b.upload(t, "orders", 4*mib, 2*mib)
	b.requireBuffered(t, 4*mib-64*kib)

	requireUnavailable(t, b.upload(t, "orders", 4*mib, 0))
	require.Equal(t, http.StatusServiceUnavailable, b.post(t, "orders", event("a", 200*kib)).status)
	require.Equal(t, http.StatusOK, b.post(t, "orders", event("b", 64*kib)).status, "the first 64 KiB of a body are outside the budget")
	require.Equal(t, http.StatusOK, b.post(t, "payments", event("c", 4*mib)).status)
	lines := b.logs.lines(t, "delivery not accepted")
	require.Len(t, lines, 2)
	require.Equal(t, "overload_memory", lines[0]["reason"])

	require.NoError(t, held.Close())
	b.requireBuffered(t, 0)
	require.Equal(t, http.StatusOK, b.post(t, "orders", event("a", 4*mib)).status, "the memory is free again")
	b.requireBuffered(t, 0)
}

// All sources together stay within the budget.
func TestAllBodiesStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) {
		o.MaxBuffered, o.MaxBody = 8*mib, 4*mib+64*kib
		o.Sources = append(o.Sources, source("payments", signer()), source("refunds", signer()))
	})
	b.acquaint(t, "orders", "payments", "refunds")
	b.upload(t, "orders", 4*mib+64*kib, 2*mib)
	b.upload(t, "payments", 4*mib+64*kib, 2*mib)
	b.requireBuffered(t, 8*mib)
	require.Equal(t, http.StatusServiceUnavailable, b.post(t, "refunds", event("a", 65*kib)).status)
	require.Equal(t, http.StatusOK, b.post(t, "refunds", event("a", 64*kib)).status, "the first 64 KiB of a body are outside the budget")
}

// Two bodies fit when they begin, but not when they grow.
func TestGrowingBodyThatFindsNoRoomIsRefused(t *testing.T) {
	t.Parallel()
	b := budgeted(t)
	growing := b.upload(t, "orders", 4*mib, 100*kib)
	b.requireBuffered(t, 64*kib)
	b.upload(t, "orders", 3*mib+512*kib, 2*mib)
	b.requireBuffered(t, 3*mib+512*kib)
	go func() { _, _ = growing.Write(make([]byte, mib)) }() // the gateway cuts the body off at some point
	requireUnavailable(t, growing)
}

// A body's memory stays reserved while the outbox holds the body, even if the sender hangs up:
// otherwise hanging up would bypass the budget.
func TestMemoryIsFreeWhenTheOutboxIsDoneWithTheBody(t *testing.T) {
	t.Parallel()
	b := budgeted(t)
	entered, release := make(chan outbox.Delivery), make(chan struct{})
	b.accepter.before = func(ctx context.Context, d outbox.Delivery) error {
		entered <- d
		select {
		case <-ctx.Done():
			return ctx.Err() // like the outbox, which still commits the delivery
		case <-release:
			return nil
		}
	}
	body := event("a", 2*mib)
	conn := b.dial(t)
	write(t, conn, fmt.Sprintf("POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Signature: %s\r\nContent-Length: %d\r\n\r\n%s", sign(testSecret, []byte(body)), len(body), body))
	held := <-entered
	require.NoError(t, conn.Close())
	b.requireInFlight(t, 0)
	b.requireBuffered(t, 2*mib-64*kib)
	held.Release()
	b.requireBuffered(t, 0)

	close(release)
	go func() { <-entered }()
	require.Equal(t, http.StatusOK, b.post(t, "orders", body).status)
	b.requireBuffered(t, 0)
}

// A body's memory also stays reserved if the outbox stops waiting while the sender is still
// connected: a committer may hold the body.
func TestMemoryStaysReservedAfterATimeoutOfTheOutbox(t *testing.T) {
	t.Parallel()
	b := budgeted(t)
	entered := make(chan outbox.Delivery, 1)
	b.accepter.before = func(_ context.Context, d outbox.Delivery) error {
		entered <- d
		return fmt.Errorf("%w: no outcome within 10s", outbox.ErrUnavailable)
	}
	require.Equal(t, http.StatusServiceUnavailable, b.post(t, "orders", event("a", 2*mib)).status)
	b.requireInFlight(t, 0)
	b.requireBuffered(t, 2*mib-64*kib)
	(<-entered).Release()
	b.requireBuffered(t, 0)
}

// One body of a source's maximum size always fits: New refuses a budget that is too small for
// it.
func TestSourceCanAlwaysHaveOneBodyOfItsCap(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.MaxBuffered, o.MaxBody = 4*mib, 4*mib })
	require.Equal(t, http.StatusOK, b.post(t, "orders", event("a", 4*mib)).status)
	_, err := gateway.New(gateway.Options{Accepter: b.accepter, MaxBuffered: 2 * mib, MaxBody: 3 * mib, Sources: []gateway.Source{source("orders", signer())}})
	require.ErrorContains(t, err, `source "orders" accepts bodies of 3145728 bytes, which do not fit into MaxBuffered (2097152)`)
}

// The buffer for a large body's declared length is allocated once: the body is not copied through
// buffers of sizes in between.
func TestLargeBodyIsAllocatedOnce(t *testing.T) { //nolint:paralleltest // it counts the allocations of the whole process
	b := setup(t, func(o *gateway.Options) { o.MaxBody = 32 * mib })
	conn := b.upload(t, "orders", 32*mib, 1000)
	piece := make([]byte, 32*kib)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2 * mib / len(piece) {
		_, err := conn.Write(piece)
		require.NoError(t, err)
	}
	b.requireBuffered(t, 32*mib-64*kib)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(36*mib))
}
