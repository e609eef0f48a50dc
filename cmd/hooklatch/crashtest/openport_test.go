package crashtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// strangers configures sources whose secrets the senders of these tests do not know.
const strangers = `  github: {provider: github, secrets: [an-unknown-secret]}
  microsoft-graph: {provider: microsoft-graph, secrets: [an-unknown-secret]}
  adyen: {provider: adyen, secrets: ["44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"]}
  twilio: {provider: twilio, public_url: "https://hooks.example.com/webhooks/twilio", secrets: [an-unknown-secret]}
  mailgun: {provider: mailgun, secrets: [an-unknown-secret]}
` + forward

// long reports whether the long form with exact measurements is requested. The bounds of the
// short form are loose, so that it passes on a busy machine.
func long() bool { return os.Getenv("HOOKLATCH_LONG") != "" }

// watchMemory measures the resident memory of the process until stop is called. stop returns the
// maximum, in MiB.
func (g *process) watchMemory(t *testing.T) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	largest := make(chan int)
	go func() {
		most := 0
		for ctx.Err() == nil {
			most = max(most, g.resident()>>10)
			<-time.After(10 * time.Millisecond)
		}
		largest <- most
	}()
	return func() int {
		cancel()
		return <-largest
	}
}

// resident returns the VmRSS of the process in KiB, or 0 if the process has exited.
func (g *process) resident() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}

// besiege keeps connections to the source github open until stop is called. On each connection, it
// declares a body of the length declared, in bytes, but sends only the number of bytes in sent. A
// second after a connection is closed, besiege opens it again.
func (g *process) besiege(t *testing.T, connections, declared, sent int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	body := make([]byte, sent)
	header := fmt.Sprintf("POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", declared)
	for range connections {
		attack.Go(func() {
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(g.url, "http://"))
				if err == nil {
					hangUp := context.AfterFunc(ctx, func() { _ = conn.Close() })
					if _, err = io.WriteString(conn, header); err == nil {
						_, _ = conn.Write(body)
					}
					_, _ = io.Copy(io.Discard, conn) // until the connection is closed
					hangUp()
					_ = conn.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	return func() {
		cancel()
		attack.Wait()
	}
}

// An attacker who keeps many connections with unfinished bodies open to one source costs the
// process little memory. Other sources lose no delivery.
//
//nolint:paralleltest // it measures time
func TestStrangersDoNotStopOtherSources(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	rounds, length, body := 1, 3*time.Second, 8<<20
	if long() {
		rounds, length, body = 3, 20*time.Second, 25<<20
	}
	for _, attack := range []struct {
		name                        string
		connections, declared, sent int
	}{
		{"80 large bodies", 80, body, body - 1},
		{"1100 connections with one byte", 1100, 100, 1},
	} {
		t.Run(attack.name, func(t *testing.T) {
			g := newProcess(t, pgtest.New(t, pgtest.MaxConns(4)), "gateway", strangers)
			g.start(t)
			var quiets, p99s []time.Duration
			var sizes []int
			for round := range rounds {
				quiet := p99(g.deliverFor(t, length/2, fmt.Sprintf("quiet_%d", round)))
				stop, memory := g.besiege(t, attack.connections, attack.declared, attack.sent), g.watchMemory(t)
				took := g.deliverFor(t, length, fmt.Sprintf("siege_%d", round)) // all responses are 200
				rss := memory()
				stop()
				busy, slow := p99(took), slices.Max(took)
				t.Logf("round %d: quiet p99 %s; siege: %d deliveries, p99 %s, slowest %s, RSS %d MiB", round, quiet, len(took), busy, slow, rss)
				require.False(t, long() && slow > 2*time.Second)
				require.Positive(t, rss)
				require.Less(t, rss, 500, "MiB")
				quiets, p99s, sizes = append(quiets, quiet), append(p99s, busy), append(sizes, rss)
			}
			t.Logf("medians of %d rounds: quiet p99 %s, siege p99 %s, RSS %d MiB (%d to %d)",
				rounds, median(quiets), median(p99s), median(sizes), slices.Min(sizes), slices.Max(sizes))
			if long() {
				require.LessOrEqual(t, median(p99s), max(3*median(quiets), 100*time.Millisecond))
			}
		})
	}
}

// Bodies of 1 MiB cost little CPU, even with well-formed but wrong signatures or with as many tiny
// items as possible. The limit is a small multiple of the CPU time for an equally large body at a
// source that refuses after one hash.
//
//nolint:paralleltest // it measures time
func TestStrangersBodiesCostLittleCPU(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	rounds, requests, most := 1, 40, 6.0
	if long() {
		rounds, requests, most = 3, 200, 3.0
	}
	fill := func(head, text, tail string) string {
		return head + strings.Repeat(text, (1<<20-len(head)-len(tail))/len(text)) + tail
	}
	const adyen = `{"NotificationRequestItem":{"additionalData":{"hmacSignature":"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="}}}`
	const form, text = "application/x-www-form-urlencoded", "application/json"
	zeros := strings.Repeat("0", 64)
	hostile := []struct{ source, shape, contentType, body string }{
		{"microsoft-graph", "smallest items", text, fill(`{"value":[{}`, `,{}`, `]}`)},
		{"microsoft-graph", "wrong states", text, fill(`{"value":[{"clientState":"a"}`, `,{"clientState":"b"}`, `]}`)},
		{"adyen", "smallest items", text, fill(`{"notificationItems":[{}`, `,{}`, `]}`)},
		{"adyen", "wrong signatures", text, fill(`{"notificationItems":[`+adyen, `,`+adyen, `]}`)},
		{"twilio", "smallest fields", form, fill("a=b", "&a=b", "")},
		{"twilio", "empty fields", form, fill("", "&", "")},
		{"mailgun", "smallest members", text, fill(`{"signature":{"timestamp":"1","token":"a","signature":"`+zeros+`"},"event-data":{"":0`, `,"":0`, `}}`)},
		{"mailgun", "smallest fields", form, fill("signature="+zeros+"&timestamp=1&token=a", "&a=b", "")},
	}
	g := newProcess(t, pgtest.New(t, pgtest.MaxConns(4)), "gateway", strangers)
	g.start(t)
	costs := map[string][]float64{}
	g.cpuOf(t, 20, "stripe", text, fill(`{"id":"`, "x", `"}`)) // warm-up: the first requests cost more
	for round := range rounds {
		measure := g.cpuOf(t, requests, "stripe", text, fill(`{"id":"`, "x", `"}`))
		for _, h := range hostile {
			cost := g.cpuOf(t, requests, h.source, h.contentType, h.body)
			name := h.source + ", " + h.shape
			for again := 0; again < 20 && !long() && cost > most*measure; again++ { // a busy machine distorts a measurement of few requests
				measure = g.cpuOf(t, requests, "stripe", text, fill(`{"id":"`, "x", `"}`))
				cost = g.cpuOf(t, requests, h.source, h.contentType, h.body)
			}
			costs[name] = append(costs[name], cost/measure)
			t.Logf("round %d: %-34s %.2f ms of CPU, stripe %.2f ms", round, name, cost, measure)
		}
	}
	for _, h := range hostile {
		name := h.source + ", " + h.shape
		t.Logf("%-34s %.2f of stripe (%.2f to %.2f)", name, median(costs[name]), slices.Min(costs[name]), slices.Max(costs[name]))
		require.LessOrEqual(t, median(costs[name]), most, name)
	}
}

// cpuOf sends requests to a source. It returns the process's CPU time per request, in milliseconds.
func (g *process) cpuOf(t *testing.T, requests int, source, contentType, body string) float64 {
	t.Helper()
	before := g.cpuTicks(t)
	for sent, late := 0, 0; sent < requests; {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/webhooks/"+source, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%064d", time.Now().Unix(), 0))
		request.Header.Set("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
		answer, err := g.client.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		if answer.StatusCode == http.StatusServiceUnavailable && late < 10 { // on a busy machine, a body may arrive too slowly
			late++
			continue
		}
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, source)
		sent++
	}
	const tick = 10.0 // milliseconds, on every Linux system
	return float64(g.cpuTicks(t)-before) * tick / float64(requests)
}

// cpuTicks returns the CPU time of the process, user and system, in clock ticks.
func (g *process) cpuTicks(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.cmd.Process.Pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // fields from the third on
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return user + system
}
