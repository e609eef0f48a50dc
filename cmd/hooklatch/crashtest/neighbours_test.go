package crashtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// timeout is the timeout of every attempt that uses a neighbour.
const timeout = time.Second

// neighbour is something other than Postgres that a process depends on, and that stops working.
type neighbour struct {
	// config configures the destination "affected". If empty, no destination depends on the
	// neighbour.
	config string
	start  func(*exec.Cmd) // if nil, the process starts as usual
	harm   func(t *testing.T)
	heal   func(t *testing.T) // if nil, the neighbour stays harmed

	elsewhere bool // true if another test covers the work that the neighbour blocks
}

// neighbours contains functions that set up a neighbour, by the kind of harm.
var neighbours = map[string]func(t *testing.T) neighbour{
	"a receiver answers 101": func(t *testing.T) neighbour {
		server, harmed := newSwitchingReceiver(t)
		return neighbour{
			config: fmt.Sprintf(`{http: {url: %q}, timeout: %s, retry: {initial: 100ms, max: 100ms, max_attempts: 100}, breaker: {probe: 1s, max_probe: 1s}}`, server, timeout),
			harm:   func(*testing.T) { harmed.Store(true) },
			heal:   func(*testing.T) { harmed.Store(false) },
		}
	},
	"a mail server is stopped": func(t *testing.T) neighbour {
		server, port := startMailServer(t)
		return neighbour{
			config: fmt.Sprintf(`{smtp: {host: 127.0.0.1, port: %d, tls: none, from: shop@example.com}, timeout: %s, retry: {initial: 100ms, max: 100ms, max_attempts: 100}, breaker: {probe: 1s, max_probe: 1s}}`, port, timeout),
			harm:   func(t *testing.T) { require.NoError(t, server.Signal(syscall.SIGSTOP)) },
			heal:   func(t *testing.T) { require.NoError(t, server.Signal(syscall.SIGCONT)) },
		}
	},
	"the reader of the log is stopped": func(t *testing.T) neighbour {
		log, reader := startLogReader(t)
		return neighbour{
			start:     logTo(log),
			harm:      func(t *testing.T) { require.NoError(t, reader.Signal(syscall.SIGSTOP)) },
			heal:      func(t *testing.T) { require.NoError(t, reader.Signal(syscall.SIGCONT)) },
			elsewhere: true,
		}
	},
	"the reader of the log is gone": func(t *testing.T) neighbour {
		log, reader := startLogReader(t)
		return neighbour{start: logTo(log), harm: func(*testing.T) { _ = reader.Kill() }, elsewhere: true}
	},
	"a collector hangs": func(t *testing.T) neighbour {
		var harmed atomic.Bool
		healed := make(chan struct{})
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if harmed.Load() {
				select {
				case <-healed:
				case <-r.Context().Done():
				}
			}
		}))
		t.Cleanup(collector.Close)
		t.Cleanup(func() { close(healed) })
		return neighbour{
			start:     exportTo("http/protobuf", collector.Listener.Addr().String()),
			harm:      func(*testing.T) { harmed.Store(true) },
			heal:      func(*testing.T) { harmed.Store(false) },
			elsewhere: true,
		}
	},
	"name servers hang": func(t *testing.T) neighbour {
		return neighbour{
			config:    fmt.Sprintf(`{http: {url: "https://hooks.example.com/"}, timeout: %s, retry: {initial: 100ms, max: 100ms, max_attempts: 100}}`, timeout),
			start:     hungResolver(t),
			harm:      func(*testing.T) {},
			elsewhere: true,
		}
	},
}

// newSwitchingReceiver starts a receiver that answers 200. While harmed is true, the receiver
// answers 101 with a body that never ends.
func newSwitchingReceiver(t *testing.T) (url string, harmed *atomic.Bool) {
	t.Helper()
	harmed = new(atomic.Bool)
	var mu sync.Mutex
	var held []net.Conn
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !harmed.Load() {
			return
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffered.Flush()
		mu.Lock()
		defer mu.Unlock()
		held = append(held, conn)
	}))
	t.Cleanup(func() {
		server.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return server.URL, harmed
}

// startLogReader starts a process that reads a log.
func startLogReader(t *testing.T) (log *os.File, reader *os.Process) {
	t.Helper()
	out, log, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("cat")
	cmd.Stdin = out
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	t.Cleanup(func() {
		_ = log.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return log, cmd.Process
}

// mailServerEnv is the variable with the address at which this binary runs as a mail server. The
// test stops and resumes the mail server.
const mailServerEnv = "HOOKLATCH_CRASHTEST_MAIL_SERVER"

// mails accepts every email and keeps none.
type mails struct{}

func (m mails) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }
func (mails) Reset()                                        {}
func (mails) Logout() error                                 { return nil }
func (mails) Mail(string, *smtp.MailOptions) error          { return nil }
func (mails) Rcpt(string, *smtp.RcptOptions) error          { return nil }

func (mails) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func serveMails(address string) error {
	server := smtp.NewServer(mails{})
	server.Addr, server.Domain = address, "mx.example.com"
	return server.ListenAndServe()
}

func startMailServer(t *testing.T) (*os.Process, int) {
	t.Helper()
	address := freeAddresses(t, 1)[0]
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), mailServerEnv+"="+address)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	}, patience, 10*time.Millisecond, "the mail server listens")
	parsed, err := net.ResolveTCPAddr("tcp", address)
	require.NoError(t, err)
	return cmd.Process, parsed.Port
}

// A neighbour that hangs blocks only the work that needs it. Meanwhile the process accepts
// deliveries to other sources, and serves other destinations at their usual rate. The slot of the
// hung work becomes free in time, and a shutdown ends in time.
//
//nolint:paralleltest // it measures time
func TestANeighbourThatHangsHoldsNothingElse(t *testing.T) {
	rounds, length := 1, time.Second
	if long() {
		rounds, length = 5, 6*time.Second
	}
	for name, open := range neighbours {
		t.Run(name, func(t *testing.T) {
			n := open(t)
			if n.elsewhere && !long() {
				t.Skip("another test covers this; HOOKLATCH_LONG=1 also measures the rates of other work")
			}
			pool := pgtest.New(t, pgtest.MaxConns(4))
			receiver := newBlockedReceiver(t)
			config := fmt.Sprintf("worker: {soft_stop: %s}\ndestinations:\n  quick: {http: {url: %q}}\n", softStop, receiver.URL)
			routes := "routes:\n  - {name: quick, from: stripe, types: [test.quick], to: quick}\n"
			if n.config != "" {
				config += "  affected: " + n.config + "\n"
				routes += "  - {name: affected, from: stripe, types: [test.affected], to: affected"
				if strings.Contains(n.config, "smtp") {
					routes += `, email: {recipient: "'someone@example.com'", subject: Hello, text: Hello}`
				}
				routes += "}\n"
			}
			p := newProcess(t, pool, "serve", config+routes)
			var with []func(*exec.Cmd)
			if n.start != nil {
				with = append(with, n.start)
			}
			p.start(t, with...)

			var quiet, beside []float64
			for round := range rounds {
				quiet = append(quiet, p.served(t, pool, length, fmt.Sprintf("quiet_%d", round)))
				n.harm(t)
				p.affect(t, n, fmt.Sprintf("affected_%d", round), 20)
				beside = append(beside, p.served(t, pool, length, fmt.Sprintf("beside_%d", round)))
				if n.heal == nil {
					continue
				}
				n.heal(t)
				healed := time.Now()
				p.affect(t, n, fmt.Sprintf("healed_%d", round), 1)
				if n.config != "" {
					require.Eventually(t, func() bool {
						return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE event_id = $1 AND state = 'done'`, fmt.Sprintf("healed_%d_0", round)) == 1
					}, patience, 20*time.Millisecond, "the affected destination works again")
					took := time.Since(healed)
					t.Logf("free %s after the healing", took.Round(time.Millisecond))
					require.False(t, long() && took > timeout+5*time.Second, "it took %s", took)
				}
			}
			t.Logf("events accepted and served in a second, medians of %d: quiet %.0f %.0f, beside it %.0f %.0f", rounds, median(quiet), quiet, median(beside), beside)
			if long() {
				require.GreaterOrEqual(t, median(beside), 0.9*median(quiet))
			}
			n.harm(t)
			p.affect(t, n, "last", 20)
			p.stop(t)
		})
	}
}

// affect delivers events for the destination that needs the neighbour.
func (g *process) affect(t *testing.T, n neighbour, name string, events int) {
	t.Helper()
	if n.config == "" {
		return
	}
	for i := range events {
		status, _ := g.deliver(t.Context(), "test.affected", fmt.Sprintf("%s_%d", name, i))
		require.Equal(t, http.StatusOK, status)
	}
}

// served returns the number of events per second that were accepted and whose effects were done.
func (g *process) served(t *testing.T, pool *pgxpool.Pool, length time.Duration, name string) float64 {
	t.Helper()
	began := time.Now()
	accepted := len(g.deliverFor(t, length, name))
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'quick' AND event_id LIKE $1 || '%' AND state = 'done'`, name) == accepted
	}, patience, 10*time.Millisecond, "the effects of accepted events are done")
	return float64(accepted) / time.Since(began).Seconds()
}
