package crashtest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// followedWithin is the maximum time without an export of the waiting work after a collector
// fails. Only the long form of the test requires it.
const followedWithin = 30 * time.Second

// freshWithin returns the maximum age of exported values. A lease lasts 15 seconds. On a busy
// machine, a reading may take up to 4 seconds, and the collector then pauses for 20 times as long.
func freshWithin() time.Duration {
	if long() {
		return 20 * time.Second
	}
	return 2 * time.Minute
}

// metrics returns the metrics that the process exports, or "" if it does not respond.
func (g *process) metrics(t *testing.T) string {
	t.Helper()
	return g.page(t, "metrics")
}

// page returns a page of the admin listener, or "" if the process does not respond.
func (g *process) page(t *testing.T, path string) string {
	t.Helper()
	answer, err := g.client.Get(strings.TrimSuffix(g.ready, "readyz") + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

// collected returns the time at which the process last counted waiting work, or zero if it exports
// no such count.
func (g *process) collected(t *testing.T) time.Time {
	t.Helper()
	for line := range strings.Lines(g.metrics(t)) {
		if rest, ok := strings.CutPrefix(line, collectedAt); ok {
			at, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			require.NoError(t, err)
			return time.UnixMilli(int64(at * 1000))
		}
	}
	return time.Time{}
}

// If a collecting process is killed or hangs, another process takes over. When the process that
// hung resumes, it does not export its old values.
func TestACollectorThatIsGoneIsFollowed(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(t *testing.T, p *process){
		"killed": func(_ *testing.T, p *process) { p.kill() },
		"hangs": func(t *testing.T, p *process) {
			t.Helper()
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
			p.client.Timeout = 5 * time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t, pgtest.MaxConns(2))
			fleet := []*process{newProcess(t, pool, "worker", "allow_empty: true\n"), newProcess(t, pool, "gateway", ""), newProcess(t, pool, "gateway", "")}
			for _, p := range fleet {
				p.start(t)
			}
			// holder returns the process that exports the waiting work. No process may export old
			// values meanwhile.
			holder := func() (by *process) {
				for _, p := range fleet {
					if at := p.collected(t); !at.IsZero() {
						require.Less(t, time.Since(at), freshWithin(), "%s exports stale values", p.command)
						by = p
					}
				}
				return by
			}
			var first *process
			require.Eventually(t, func() bool { first = holder(); return first != nil }, patience, 50*time.Millisecond)
			began := time.Now()
			gone(t, first)
			require.Eventually(t, func() bool { by := holder(); return by != nil && by != first }, patience, 50*time.Millisecond)
			took := time.Since(began)
			t.Logf("%s: followed after %.1f s", first.command, took.Seconds())
			require.False(t, long() && took > followedWithin)
			if first.cmd == nil {
				return
			}
			require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
			for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
				// On a busy machine, the first process may take over again. It then exports new
				// values.
				if at := first.collected(t); !at.IsZero() {
					require.False(t, long(), "another process has taken over")
					require.Greater(t, at, began, "%s exports values of before it hung", first.command)
				}
				<-time.After(20 * time.Millisecond)
			}
		})
	}
}
