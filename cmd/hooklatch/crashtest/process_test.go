// Package crashtest tests the promise with real processes of the binary that are killed with
// SIGKILL.
package crashtest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// patience is the maximum wait for an expected event, even on a busy machine.
const patience = 2 * time.Minute

const testSecret = "whsec_crashtest_0123456789abcdef"

// buildDir contains the binary until the tests end.
var buildDir string

func TestMain(m *testing.M) {
	if address := os.Getenv(mailServerEnv); address != "" {
		panic(serveMails(address)) // serves until a signal terminates the process
	}
	dir, err := os.MkdirTemp("", "hooklatch-crashtest-*")
	if err != nil {
		panic(err)
	}
	buildDir = dir
	code := pgtest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binary builds the program once for all tests, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "hooklatch")
	build := exec.Command("go", "build", "-o", path, "github.com/hooklatch/hooklatch/cmd/hooklatch")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, output)
	}
	return path, nil
})

// process is one process of the binary: a gateway, a worker or both.
type process struct {
	command string
	config  string
	url     string
	ready   string // URL of /readyz, which answers 200 while the process can commit
	client  *http.Client
	cmd     *exec.Cmd
	log     *bytes.Buffer
}

// forward is a configuration whose effects fail, because nothing listens at the destination.
const forward = `
destinations:
  app: {http: {url: "http://127.0.0.1:9/"}}
routes:
  - {name: everything, from: "*", to: app}
`

// newProcess prepares `hooklatch COMMAND` on the database of pool, with a source stripe and the
// configuration in more. On a busy machine, the long accept_timeout prevents 503, and the long
// read_header_timeout prevents closed connections. The method impatient shortens accept_timeout,
// and the method start starts the process.
func newProcess(t *testing.T, pool *pgxpool.Pool, command, more string) *process {
	t.Helper()
	free := freeAddresses(t, 2)
	listen, admin := free[0], free[1]
	config := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
database: {url: %q, allow: [fsync_off]}
gateway: {listen: %q, accept_timeout: 60s, read_header_timeout: 60s}
admin: {listen: %q}
sources:
  stripe: {provider: stripe, secrets: [%q]}
%s`, pgtest.URL(t, pool), listen, admin, testSecret, more), 0o600))
	g := &process{command: command, config: config, url: "http://" + listen, ready: "http://" + admin + "/readyz", client: &http.Client{Timeout: patience}}
	g.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		g.kill()
		if t.Failed() {
			t.Logf("the last process's log:\n%s", g.log)
		}
	})
	return g
}

// impatient makes the gateway answer 503 soon while it cannot commit.
func (g *process) impatient(t *testing.T) {
	t.Helper()
	g.reconfigure(t, "accept_timeout: 60s", "accept_timeout: 2s")
}

// start starts the process, and returns when the process is ready. Each function in with changes
// the command before the start.
func (g *process) start(t *testing.T, with ...func(*exec.Cmd)) {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	g.log = new(bytes.Buffer)
	g.cmd = exec.Command(path, g.command, "--config", g.config)
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	for _, change := range with {
		change(g.cmd)
	}
	require.NoError(t, g.cmd.Start())
	g.awaitReady(t)
}

func (g *process) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		answer, err := g.client.Get(g.ready)
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond, "the process is not ready")
}

// run runs another command of the binary with the same configuration, and returns the command's
// output.
func (g *process) run(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	cmd := exec.Command(path, append(args, "--config", g.config)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, "%s: %s", args, &stderr)
	return output
}

// kill sends SIGKILL, which stops the process as a crash would, and waits until the process has
// exited.
func (g *process) kill() {
	if g.cmd == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	g.cmd = nil
	g.client.CloseIdleConnections()
}

// deliver sends one Stripe event. It returns the status, or 0 without a response, and the
// response's header Hooklatch-Status.
func (g *process) deliver(ctx context.Context, eventType, id string) (status int, result string) {
	stripe, err := catalog.New("stripe", provider.Options{})
	if err != nil {
		panic(err)
	}
	event := stripe.Sample(eventType, id, time.Now())
	if err := stripe.Sign(event, secret.New(testSecret), time.Now()); err != nil {
		panic(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/webhooks/stripe", bytes.NewReader(event.Body))
	if err != nil {
		panic(err)
	}
	request.Header = event.Header
	request.Header.Set("Idempotency-Key", id) // if the gateway closes an idle connection meanwhile, the client sends again
	answer, err := g.client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	return answer.StatusCode, answer.Header.Get("Hooklatch-Status")
}

// freeAddresses returns n different unused addresses.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	addresses, err := freeport.Addresses(n)
	require.NoError(t, err)
	return addresses
}

// count returns the single number that a query selects.
func count(t *testing.T, pool *pgxpool.Pool, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}
