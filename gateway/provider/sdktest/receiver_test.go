package sdktest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

const (
	receiverExamples = "../../../docs/examples/receiver"
	receiverSecret   = "whsec_cmVjZWl2ZXJzIG9mIHRoZSBleGFtcGxlcyBrbm93IGl0"
	receiverPatience = time.Minute
)

// The test runs each program in docs/receiver.md against a running worker.
func TestReceiversOfThePage(t *testing.T) {
	t.Parallel()
	for language, start := range map[string]func(t *testing.T) *exec.Cmd{
		"go": func(t *testing.T) *exec.Cmd {
			program := filepath.Join(t.TempDir(), "receiver")
			build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./docs/examples/receiver/go")
			build.Dir = "../../.."
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return exec.CommandContext(t.Context(), program)
		},
		"typescript": func(t *testing.T) *exec.Cmd {
			dir := installNPM(t, receiverExample, "receiver.ts", "tsconfig.json")
			compile := exec.CommandContext(t.Context(), "node", "node_modules/typescript/bin/tsc")
			compile.Dir = dir
			out, err := compile.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return exec.CommandContext(t.Context(), "node", filepath.Join(dir, "receiver.js"))
		},
		"python": func(t *testing.T) *exec.Cmd {
			python, err := exec.LookPath("python3")
			if err != nil && os.Getenv("CI") == "true" {
				t.Fatalf("the Python example needs Python 3: %v", err)
			} else if err != nil {
				t.Skipf("the Python example needs Python 3: %v", err)
			}
			return exec.CommandContext(t.Context(), python, filepath.Join(receiverExamples, "python", "receiver.py"))
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t, start(t))
			r.enqueue(t, "order-1", "application/json", `{"order": 1}`)
			r.enqueue(t, "form-2", "application/x-www-form-urlencoded", "a=1&b=%C3%BC") // not JSON: the receiver must verify without parsing
			r.enqueue(t, "binary-3", "application/octet-stream", "\x00\xff\r\n")

			// The proxy turns the first response for each effect into a 503, so the worker retries.
			said := map[string]int{}
			for range 6 {
				said[r.line(t)]++
			}
			want := map[string]int{}
			for key, rest := range map[identity.Key]string{
				"order-1": "application/json 12", "form-2": "application/x-www-form-urlencoded 12", "binary-3": "application/octet-stream 4",
			} {
				id := identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: key, Generation: 1}.IdempotencyKey()
				want["applied "+id+" "+rest], want["known "+id+" "+rest] = 1, 1
			}
			require.Equal(t, want, said)
			r.refuses(t)
		})
	}
}

// receiver is one of the programs in docs/receiver.md, behind a proxy that turns first responses
// into errors, and a worker that sends to the proxy.
type receiver struct {
	lines <-chan string
	box   *outbox.Outbox
	begin func(context.Context) (pgx.Tx, error)
	url   string
	last  atomic.Pointer[http.Request] // the last request that the proxy received, with its body
}

func startReceiver(t *testing.T, program *exec.Cmd) *receiver {
	t.Helper()
	program.Env = append(os.Environ(), "APP_SECRET="+receiverSecret, "PORT=0")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = program.Process.Kill()
		for range lines { // read the output to its end before Wait
		}
		_ = program.Wait() // the program was killed
	})
	r := &receiver{lines: lines}
	port, ok := strings.CutPrefix(r.line(t), "listening ")
	require.True(t, ok)
	r.url = "http://127.0.0.1:" + port

	pool := pgtest.New(t)
	r.begin = pool.Begin
	sender, err := destination.NewHTTP(destination.HTTPOptions{
		Name: "app", URL: r.proxy(t) + "/hooks", Sign: &destination.Sign{StandardWebhooks: []secret.Value{secret.New("raw:the next one"), secret.New(receiverSecret)}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	r.box, err = outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.box.Stop(context.Background())) })
	w, err := worker.New(worker.Options{Pool: pool, Outbox: r.box, Destinations: []worker.DestinationOptions{{
		Name: "app", Sender: sender, Retry: destination.Schedule{Initial: time.Millisecond, Jitter: -1}, Breaker: lane.Breaker{Off: true},
	}}})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.Stop(context.Background())) })
	return r
}

// proxy starts a proxy for the receiver and returns its URL. The proxy turns the response to
// the first attempt of each effect into a 503.
func (r *receiver) proxy(t *testing.T) string {
	t.Helper()
	target, err := url.Parse(r.url)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ModifyResponse = func(answer *http.Response) error {
		if answer.Request.Header.Get("Hooklatch-Attempt") == "1" {
			answer.StatusCode = http.StatusServiceUnavailable
		}
		return nil
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body) // a truncated body fails the verification
		kept := request.Clone(context.Background())
		kept.Body = io.NopCloser(bytes.NewReader(body))
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.last.Store(kept)
		forward.ServeHTTP(w, request)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func (r *receiver) line(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-r.lines:
		require.True(t, open, "the receiver's output ended")
		return line
	case <-time.After(receiverPatience):
		t.Fatal("the receiver prints nothing")
		return ""
	}
}

func (r *receiver) enqueue(t *testing.T, key identity.Key, contentType, body string) {
	t.Helper()
	tx, err := r.begin(t.Context())
	require.NoError(t, err)
	_, err = r.box.EnqueueTx(t.Context(), tx, outbox.Enqueue{
		Key: key, Destination: "app", Request: ledger.Request{ContentType: contentType, Body: []byte(body)},
	})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}

// refuses checks that the receiver accepts the last request again, but refuses it with any
// signed part changed.
func (r *receiver) refuses(t *testing.T) {
	t.Helper()
	genuine := r.last.Load()
	body, err := io.ReadAll(genuine.Body)
	require.NoError(t, err)
	send := func(change map[string]string, body []byte) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/hooks", bytes.NewReader(body))
		require.NoError(t, err)
		request.Close, request.Header = true, genuine.Header.Clone()
		for name, value := range maps.All(change) {
			request.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusNoContent, send(nil, body))
	for name, value := range map[string]string{
		"Webhook-Id": "hl_other", "Webhook-Timestamp": "1", "Webhook-Signature": "v1,AAAA",
	} {
		require.Equal(t, http.StatusUnauthorized, send(map[string]string{name: value}, body), name)
	}
	require.Equal(t, http.StatusUnauthorized, send(map[string]string{"Webhook-Timestamp": "x"}, body))
	require.Equal(t, http.StatusUnauthorized, send(map[string]string{"Webhook-Signature": ""}, body))
	require.Equal(t, http.StatusUnauthorized, send(nil, append(body, ' ')))
}
