package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Limits for the gateway's memory, including the runtime's own overhead.
const (
	maxForLargeBodies    = 300_000_000 // 64 connections with bodies of 1 MB; 210 MB when measured
	maxForIdleConnection = 20_000      // per connection
)

// held returns the memory, in bytes, that the process has obtained from the system and not
// returned.
func held() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) - int64(m.HeapReleased)
}

// watch returns a function that reports the peak increase in memory use since the call of
// watch.
func watch(t *testing.T) (most func() int64) {
	t.Helper()
	runtime.GC()
	before, done, peak := held(), make(chan struct{}), make(chan int64)
	go func() {
		highest := before
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			highest = max(highest, held())
			select {
			case <-tick.C:
			case <-done:
				peak <- highest - before
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-peak
	}
}

func TestLargeBodiesFitTheirMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process
	o, err := outbox.New(outbox.Options{Pool: pgtest.New(t), AcceptTimeout: time.Minute})
	require.NoError(t, err)
	b := setup(t, func(opts *gateway.Options) {
		opts.Accepter, opts.Now = o, time.Now
		opts.MaxUnprovenPerAddress = opts.MaxInFlight
		opts.MaxBody = 2 * mib
		opts.Logger = slog.New(slog.DiscardHandler)
		opts.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	const connections, each = 64, 4
	padding := strings.Repeat("x", 1_000_000)
	most := watch(t)
	var all sync.WaitGroup
	for c := range connections {
		conn := b.dial(t)
		require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute))) // the exchange may take a long time on a busy machine
		all.Go(func() {
			answers := bufio.NewReader(conn)
			for i := range each {
				head := fmt.Sprintf(`{"id":"%d_%d","type":"x","padding":"`, c, i)
				if err := postPieces(conn, answers, head, padding, `"}`); err != nil {
					t.Errorf("connection %d: %v", c, err)
					return
				}
			}
		})
	}
	all.Wait()
	used := most()
	t.Logf("%d MB for %d connections with bodies of 1 MB", used/1_000_000, connections)
	require.Less(t, used, int64(maxForLargeBodies))
	require.NoError(t, o.Stop(context.Background()))
}

// Both ends of the connections are in this process: the limit covers them together.
func TestConnectionsThatBringNothingFitTheirMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process
	b := setup(t, func(opts *gateway.Options) {
		opts.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	const connections = 2000
	most := watch(t)
	for range connections {
		b.dial(t)
	}
	// Connections are accepted in order, so a response on the last one means that all are
	// open.
	last := b.dial(t)
	_, err := io.WriteString(last, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(last), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	used := most() / connections
	t.Logf("%d bytes for an idle connection", used)
	require.Less(t, used, int64(maxForIdleConnection))
}

// postPieces posts a body in pieces, without another copy of it in this process.
func postPieces(conn net.Conn, answers *bufio.Reader, pieces ...string) error {
	mac, size := newMAC(), 0
	for _, piece := range pieces {
		_, _ = io.WriteString(mac, piece)
		size += len(piece)
	}
	_, err := fmt.Fprintf(conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Signature: %x\r\nContent-Length: %d\r\n\r\n", mac.Sum(nil), size)
	for _, piece := range pieces {
		if err == nil {
			_, err = io.WriteString(conn, piece)
		}
	}
	if err != nil {
		return err
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
