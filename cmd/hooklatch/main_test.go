package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asProgram is the environment variable that makes the test binary run as the program, for tests
// that need a separate process.
const asProgram = "HOOKLATCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(entry("", ""))
	}
	flag.Parse()
	os.Exit(pgtest.Main(m))
}

const (
	testName = "hooklatch"
	// patience is the maximum time that a test waits for background work on a busy machine.
	patience = 3 * time.Minute
	tick     = 20 * time.Millisecond
)

// syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// command is one call of the program.
type command struct {
	env    map[string]string
	stdin  string
	stdout syncBuffer
	stderr syncBuffer
	name   string
}

func (c *command) run(ctx context.Context, args ...string) int {
	name := c.name
	if name == "" {
		name = testName
	}
	return execute(ctx, &process{
		name: name, stdin: strings.NewReader(c.stdin), stdout: &c.stdout, stderr: &c.stderr,
		env: func(variable string) (string, bool) {
			value, ok := c.env[variable]
			return value, ok
		},
		cellPatience:  patience,
		answerTimeout: patience,
		acceptTimeout: patience, // a busy machine must not cause a 503
		reloads:       func(context.Context) <-chan struct{} { return nil },
	}, args)
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	var c command
	require.Zero(t, c.run(t.Context(), args...), "%s\n%s%s", strings.Join(args, " "), c.stdout.String(), c.stderr.String())
	return c.stdout.String()
}

// system runs the same parts as the dev command, on a test database.
type system struct {
	pool       *pgxpool.Pool
	config     *config.Config
	configPath string
	app        *app.App
	url        string // URL of the gateway
	admin      string // URL of the admin listener
	receiver   *demo.Receiver
	mail       *demo.Mail
	logs       syncBuffer
}

type systemOptions struct {
	database []pgtest.Option
	pool     *pgxpool.Pool // used instead of a new database
	// yaml returns the configuration to use instead of the dev configuration. It may be nil.
	yaml func(*devSettings) string
	// change is called before the system starts.
	change func(*config.Config)
	// noGateway and noWorker omit the gateway and the worker.
	noGateway, noWorker bool
	// waitNot makes newSystem return without waiting for App.Prepared.
	waitNot bool
}

// newSystem starts gateway, worker, admin listener and the demo receivers.
func newSystem(t *testing.T, opts systemOptions) *system {
	t.Helper()
	s := &system{pool: opts.pool}
	if s.pool == nil {
		s.pool = pgtest.New(t, opts.database...)
	}
	dir := t.TempDir()
	s.configPath = filepath.Join(dir, "dev.yaml")
	env := func(string) (string, bool) { return "", false }
	settings, err := readDevSettings(s.configPath, env)
	require.NoError(t, err)
	settings.database = secret.New(pgtest.URL(t, s.pool))
	settings.listen, settings.admin = "127.0.0.1:0", "localhost:0"

	mailListener, err := listen(t.Context(), "127.0.0.1:0", "mail", "")
	require.NoError(t, err)
	s.mail = demo.NewMail(demo.MailOptions{Listener: mailListener})
	s.mail.Start()
	t.Cleanup(func() { _ = s.mail.Stop(context.Background()) })
	receiverListener, err := listen(t.Context(), "127.0.0.1:0", "receiver", "")
	require.NoError(t, err)
	s.receiver, err = demo.NewReceiver(demo.ReceiverOptions{Listener: receiverListener, Secret: settings.sign, Mail: s.mail})
	require.NoError(t, err)
	s.receiver.Start()
	t.Cleanup(func() { _ = s.receiver.Stop(context.Background()) })
	settings.smtp, settings.receiver = mailListener.Addr().String(), receiverListener.Addr().String()

	if opts.yaml == nil {
		s.config, err = settings.write(s.configPath, env)
		require.NoError(t, err)
	} else {
		text := opts.yaml(settings)
		require.NoError(t, os.WriteFile(s.configPath, []byte(text), 0o600))
		s.config, err = config.Load(s.configPath, env)
		require.NoError(t, err)
	}
	require.NoError(t, app.CheckConfig(s.config))
	// A machine that is busy with other tests must not cause a 503.
	s.config.Gateway.AcceptTimeout = patience
	s.config.Database.Allow = []string{config.AllowFsyncOff} // test databases run without fsync
	if opts.change != nil {
		opts.change(s.config)
	}
	s.app, err = app.New(t.Context(), app.Options{
		Config: s.config, Gateway: !opts.noGateway, Worker: !opts.noWorker, Version: "test",
		Logger: slog.New(slog.NewJSONHandler(&s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.app.Stop(context.Background())
		if t.Failed() {
			t.Log(s.logs.String())
		}
	})
	require.NoError(t, s.app.Start(t.Context()))
	s.admin = "http://" + s.app.AdminAddr().String()
	if !opts.noGateway {
		s.url = "http://" + s.app.GatewayAddr().String()
	}
	if !opts.waitNot {
		s.waitPrepared(t)
	}
	return s
}

func (s *system) waitPrepared(t *testing.T) {
	t.Helper()
	select {
	case <-s.app.Prepared():
	case err := <-s.app.Failed():
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "not prepared", s.logs.String())
	}
}

// args adds --config to a command and, if the command is send, the URL of the gateway.
func (s *system) args(args ...string) []string {
	args = append(args, "--config", s.configPath)
	if args[0] == "send" {
		args = append(args, "--url", s.url)
	}
	return args
}

// count returns the number that a query selects.
func (s *system) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// counts reports whether a query returns n. It returns false while the database is unavailable.
func (s *system) counts(t *testing.T, n int, query string, args ...any) bool {
	t.Helper()
	var got int
	err := s.pool.QueryRow(t.Context(), query, args...).Scan(&got)
	return err == nil && got == n
}

func (s *system) isDispatched(t *testing.T, source, eventID string) bool {
	t.Helper()
	return s.counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND event_id = $2 AND outcome = 'dispatched'`, source, eventID)
}

// waitDone waits until an event is dispatched and its effects are done.
func (s *system) waitDone(t *testing.T, source, eventID string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.isDispatched(t, source, eventID) &&
			s.counts(t, 0, `SELECT count(*) FROM hooklatch.effects WHERE source = $1 AND event_id = $2 AND state <> 'done'`, source, eventID)
	}, patience, tick, "the effects of %s/%s are not done", source, eventID)
}

// settle moves the receipt of every event two minutes back, so that exports contain the events.
func (s *system) settle(t *testing.T) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), `
		WITH settled AS (
			UPDATE hooklatch.processed_events SET received_at = received_at - interval '2 minutes' RETURNING delivery_id, received_at
		)
		UPDATE hooklatch.deliveries AS d SET received_at = settled.received_at FROM settled WHERE d.delivery_id = settled.delivery_id`)
	require.NoError(t, err)
}

// getBody returns the body of a response as text, and closes it.
func getBody(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(body)
}

// writeConfig writes the dev configuration for a database, on free ports.
func writeConfig(t *testing.T, database string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dev.yaml")
	env := func(string) (string, bool) { return "", false }
	settings, err := readDevSettings(path, env)
	require.NoError(t, err)
	settings.database = secret.New(database)
	settings.listen, settings.admin = "127.0.0.1:0", "localhost:0"
	settings.smtp, settings.receiver = "127.0.0.1:9", "127.0.0.1:9" // discard: no server listens
	_, err = settings.write(path, env)
	require.NoError(t, err)
	return path
}

// writeServedConfig writes a configuration with which a gateway starts, although test databases run
// without fsync.
func writeServedConfig(t *testing.T, database string) string {
	t.Helper()
	path := writeConfig(t, database)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	served := strings.NewReplacer(
		"\ndatabase:\n", "\ndatabase:\n  allow: ["+config.AllowFsyncOff+"]\n",
		"\ngateway:\n", "\ngateway:\n  accept_timeout: 60s\n", // a busy machine must not make a delivery unavailable
	).Replace(string(text))
	require.Contains(t, served, "allow: [")
	require.Contains(t, served, "accept_timeout: 60s")
	require.NoError(t, os.WriteFile(path, []byte(served), 0o600))
	return path
}

func portOf(port uint16) string { return strconv.Itoa(int(port)) }
