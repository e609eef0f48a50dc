package crashtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// softStop is worker.soft_stop of these processes, and stopBound is the maximum duration of a
// shutdown with it. The short form allows more time, so that work finishes even on a busy machine.
var (
	softStop = func() time.Duration {
		if long() {
			return 2 * time.Second
		}
		return 30 * time.Second
	}()
	stopBound = softStop + 5*time.Second
)

// blockedReceiver responds to /slow after release, and to all other requests immediately.
type blockedReceiver struct {
	*httptest.Server

	arrived chan struct{}
	release func() // may be called again
}

func newBlockedReceiver(t *testing.T) *blockedReceiver {
	t.Helper()
	released := make(chan struct{})
	r := &blockedReceiver{arrived: make(chan struct{}, 100), release: sync.OnceFunc(func() { close(released) })}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if strings.Contains(request.URL.Path, "slow") {
			r.arrived <- struct{}{}
			<-released
		}
	}))
	t.Cleanup(r.Close)
	t.Cleanup(r.release) // runs before Close, which waits for the handlers, even after a failure
	return r
}

// quickAndSlow configures two routes to the receiver: it responds immediately to quick events, and
// after release to slow events. The time limit is longer than a busy machine needs until release.
func quickAndSlow(r *blockedReceiver) string {
	return fmt.Sprintf(`
worker: {soft_stop: %s}
destinations:
  quick: {http: {url: "%s/quick"}, timeout: 120s}
  slow: {http: {url: "%s/slow"}, timeout: 120s, policy: at_most_once}
routes:
  - {name: quick, from: stripe, types: ["quick*"], to: quick}
  - {name: slow, from: stripe, types: ["slow*"], to: slow}
`, softStop, r.URL, r.URL)
}

// logTo returns an option that makes a process write its log to a file.
func logTo(log *os.File) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = log, log }
}

// stop sends SIGTERM and requires the process to exit with code 0. In the long form, the process
// must exit within stopBound.
func (g *process) stop(t *testing.T) {
	t.Helper()
	began := time.Now()
	require.NoError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- g.cmd.Wait() }()
	select {
	case err := <-ended:
		g.cmd = nil
		require.NoError(t, err)
		took := time.Since(began)
		t.Logf("stopped after %s", took.Round(time.Millisecond))
		require.False(t, long() && took > stopBound, "it took %s", took)
	case <-time.After(patience):
		t.Fatal("SIGTERM did not end the process")
	}
}

// metric returns the value of a metric without labels, or the sum over all labels.
func (g *process) metric(t *testing.T, name string) (sum float64) {
	t.Helper()
	answer, err := g.client.Get(strings.TrimSuffix(g.ready, "/readyz") + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^`+name+`(?:\{[^}]*\})? (\S+)$`).FindAllSubmatch(text, -1) {
		value, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		sum += value
	}
	return sum
}

// probe returns the response of /readyz.
func (g *process) probe(t *testing.T) (status int, body string) {
	t.Helper()
	answer, err := g.client.Get(g.ready)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// deliverMany sends n deliveries and requires 200 for each.
func (g *process) deliverMany(t *testing.T, prefix string, n int) {
	t.Helper()
	var sending sync.WaitGroup
	failed := make(chan string, n)
	ids := make(chan string, n)
	for i := range n {
		ids <- fmt.Sprintf("%s_%d", prefix, i)
	}
	close(ids)
	for range 16 {
		sending.Go(func() {
			for id := range ids {
				if status, _ := g.deliver(t.Context(), "quick."+strings.Repeat("x", 150), id); status != http.StatusOK {
					failed <- fmt.Sprintf("%s: %d", id, status)
					return
				}
			}
		})
	}
	sending.Wait()
	require.Empty(t, failed, "deliveries that were not answered 2xx")
}

// done waits until at least n effects are done.
func done(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) >= n
	}, patience, 20*time.Millisecond, "%d effects are done", n)
}

// openFIFO creates a named pipe of the smallest size without a reader. It is open for both
// directions, so that the process never sees it closed.
func openFIFO(t *testing.T) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 4096)
	require.NoError(t, err)
	fifo := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { _ = fifo.Close() })
	return fifo
}

// If a log has no reader, only log lines are lost: deliveries are answered, effects are done, and
// a shutdown ends in time.
func TestALogThatNobodyReadsHoldsNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	receiver := newBlockedReceiver(t)
	g := newProcess(t, pool, "serve", quickAndSlow(receiver))
	fifo := openFIFO(t)
	g.start(t, logTo(fifo))

	rounds := 0
	for dropped := false; !dropped; dropped = g.metric(t, "hooklatch_log_dropped_total") > 0 {
		g.deliverMany(t, fmt.Sprintf("evt_%d", rounds), 200)
		rounds++
		require.Less(t, rounds, 20, "no line was dropped")
	}
	done(t, pool, rounds*200)
	require.Eventually(t, func() bool {
		status, body := g.probe(t)
		return status == http.StatusOK && strings.Contains(body, "the log on stderr")
	}, patience, 50*time.Millisecond, "/readyz names the log")

	var mu sync.Mutex
	var read bytes.Buffer
	const end = "\x00" // no log line contains it
	var reading sync.WaitGroup
	reading.Go(func() {
		part := make([]byte, 4096)
		for {
			n, err := fifo.Read(part)
			mu.Lock()
			read.Write(part[:n])
			mu.Unlock()
			if err != nil || bytes.HasSuffix(part[:n], []byte(end)) {
				return
			}
		}
	})
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(read.String(), "dropped: the reader of the log")
	}, patience, 10*time.Millisecond, "the log says what was dropped")
	require.Eventually(t, func() bool {
		_, body := g.probe(t)
		return !strings.Contains(body, "the log on stderr")
	}, patience, 50*time.Millisecond, "/readyz forgets the log")
	g.deliverMany(t, "evt_last", 1)
	g.stop(t)
	_, err := fifo.WriteString(end)
	require.NoError(t, err)
	reading.Wait()
	require.Contains(t, read.String(), "evt_last_0")
	require.Contains(t, read.String(), `"msg":"stopped"`)
}

// A shutdown does not wait for the reader of the log.
func TestAStopDoesNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	g := newProcess(t, pool, "serve", quickAndSlow(newBlockedReceiver(t)))
	g.start(t, logTo(openFIFO(t)))
	g.deliverMany(t, "evt", 50) // more than the pipe can hold
	done(t, pool, 50)
	g.stop(t)
}

// No work stops if the reader of the log closes the pipe, or if the log's disk is full. Effects
// with at_most_once that are in progress are done, and later effects are done, too.
func TestALogThatCannotBeWrittenEndsNothing(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (log *os.File, end func()){
		"reader gone": func(t *testing.T) (*os.File, func()) {
			reader, writer, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { _ = writer.Close() })
			return writer, func() { require.NoError(t, reader.Close()) }
		},
		"full disk": func(t *testing.T) (*os.File, func()) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = full.Close() })
			return full, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t, pgtest.MaxConns(4))
			receiver := newBlockedReceiver(t)
			g := newProcess(t, pool, "serve", quickAndSlow(receiver))
			log, end := open(t)
			g.start(t, logTo(log))
			for i := range 5 {
				status, _ := g.deliver(t.Context(), "slow", fmt.Sprintf("slow_%d", i))
				require.Equal(t, http.StatusOK, status)
				<-receiver.arrived
			}
			end()
			g.deliverMany(t, "evt", 100)
			done(t, pool, 100)
			receiver.release()
			done(t, pool, 105)
			require.Positive(t, g.metric(t, "hooklatch_log_dropped_total"))
			g.stop(t)
		})
	}
}
