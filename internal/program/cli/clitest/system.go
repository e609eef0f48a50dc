package clitest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	// TestName is the name by which tests call the program.
	TestName = "hooklatch"
	// Patience is the maximum time that a test waits for background work on a busy machine.
	Patience = 3 * time.Minute
	// Tick is the time between two looks at a state.
	Tick = 20 * time.Millisecond
)

// System runs the same parts as the dev command, on a test database.
type System struct {
	Pool       *pgxpool.Pool
	Config     *config.Config
	ConfigPath string
	App        *app.App
	URL        string // URL of the gateway
	Admin      string // URL of the admin listener
	Receiver   *demo.Receiver
	Mail       *demo.Mail
	Logs       SyncBuffer
}

// SystemOptions are the options of NewSystem.
type SystemOptions struct {
	Pool *pgxpool.Pool // used instead of a new database
	// YAML returns the configuration to use instead of the dev configuration. It may be nil.
	YAML func(*cli.DevSettings) string
	// Change is called before the system starts.
	Change func(*config.Config)
	// NoGateway and NoWorker omit the gateway and the worker.
	NoGateway, NoWorker bool
	// WaitNot makes NewSystem return without waiting for App.Prepared.
	WaitNot bool
}

// NewSystem starts gateway, worker, admin listener and the demo receivers.
func NewSystem(t *testing.T, opts SystemOptions) *System {
	t.Helper()
	s := &System{Pool: opts.Pool}
	if s.Pool == nil {
		s.Pool = pgtest.New(t)
	}
	dir := t.TempDir()
	s.ConfigPath = filepath.Join(dir, "dev.yaml")
	env := func(string) (string, bool) { return "", false }
	settings, err := cli.ReadDevSettings(s.ConfigPath, env)
	require.NoError(t, err)
	settings.Database = secret.New(pgtest.URL(t, s.Pool))
	settings.Listen, settings.Admin = "127.0.0.1:0", "localhost:0"

	mailListener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Mail = demo.NewMail(demo.MailOptions{Listener: mailListener})
	s.Mail.Start()
	t.Cleanup(func() { _ = s.Mail.Stop(context.Background()) })
	receiverListener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Receiver, err = demo.NewReceiver(demo.ReceiverOptions{Listener: receiverListener, Secret: settings.Sign, Mail: s.Mail})
	require.NoError(t, err)
	s.Receiver.Start()
	t.Cleanup(func() { _ = s.Receiver.Stop(context.Background()) })
	settings.SMTP, settings.Receiver = mailListener.Addr().String(), receiverListener.Addr().String()

	if opts.YAML == nil {
		s.Config, err = settings.Write(s.ConfigPath, env)
		require.NoError(t, err)
	} else {
		text := opts.YAML(settings)
		require.NoError(t, os.WriteFile(s.ConfigPath, []byte(text), 0o600))
		s.Config, err = config.Load(s.ConfigPath, env)
		require.NoError(t, err)
	}
	require.NoError(t, app.CheckConfig(s.Config))
	// A machine that is busy with other tests must not cause a 503 or a closed connection.
	s.Config.Gateway.AcceptTimeout, s.Config.Gateway.ReadHeaderTimeout = Patience, Patience
	s.Config.Database.Allow = []string{config.AllowFsyncOff} // test databases run without fsync
	if opts.Change != nil {
		opts.Change(s.Config)
	}
	s.App, err = app.New(t.Context(), app.Options{
		Config: s.Config, Gateway: !opts.NoGateway, Worker: !opts.NoWorker, Version: "test",
		Logger: slog.New(slog.NewJSONHandler(&s.Logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.App.Stop(context.Background())
		if t.Failed() {
			t.Log(s.Logs.String())
		}
	})
	require.NoError(t, s.App.Start(t.Context()))
	s.Admin = "http://" + s.App.AdminAddr().String()
	if !opts.NoGateway {
		s.URL = "http://" + s.App.GatewayAddr().String()
	}
	if !opts.WaitNot {
		s.WaitPrepared(t)
	}
	return s
}

// WaitPrepared waits until the App is prepared: see App.Prepared.
func (s *System) WaitPrepared(t *testing.T) {
	t.Helper()
	select {
	case <-s.App.Prepared():
	case err := <-s.App.Failed():
		require.NoError(t, err)
	case <-time.After(Patience):
		require.Fail(t, "not prepared", s.Logs.String())
	}
}

// Args adds --config to a command and, if the command is send, the URL of the gateway.
func (s *System) Args(args ...string) []string {
	args = append(args, "--config", s.ConfigPath)
	if args[0] == "send" {
		args = append(args, "--url", s.URL)
	}
	return args
}

// Count returns the number that a query selects.
func (s *System) Count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// Counts reports whether a query returns n. It returns false while the database is unavailable.
func (s *System) Counts(t *testing.T, n int, query string, args ...any) bool {
	t.Helper()
	var got int
	err := s.Pool.QueryRow(t.Context(), query, args...).Scan(&got)
	return err == nil && got == n
}

// IsDispatched reports whether an event is dispatched.
func (s *System) IsDispatched(t *testing.T, source, eventID string) bool {
	t.Helper()
	return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND event_id = $2 AND outcome = 'dispatched'`, source, eventID)
}

// WaitDone waits until an event is dispatched and its effects are done.
func (s *System) WaitDone(t *testing.T, source, eventID string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.IsDispatched(t, source, eventID) &&
			s.Counts(t, 0, `SELECT count(*) FROM hooklatch.effects WHERE source = $1 AND event_id = $2 AND state <> 'done'`, source, eventID)
	}, Patience, Tick, "the effects of %s/%s are not done", source, eventID)
}

// Settle moves the receipt of every event two minutes back, so that exports contain the events.
func (s *System) Settle(t *testing.T) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), `
		WITH settled AS (
			UPDATE hooklatch.processed_events SET received_at = received_at - interval '2 minutes' RETURNING delivery_id, received_at
		)
		UPDATE hooklatch.deliveries AS d SET received_at = settled.received_at FROM settled WHERE d.delivery_id = settled.delivery_id`)
	require.NoError(t, err)
}

// Printed returns a text as the program prints it with the system's configuration: --config is
// added to the commands in the text.
func (s *System) Printed(text string) string { return cells.Flags{Config: s.ConfigPath}.AddTo(text) }

// Text returns the result of a query.
func (s *System) Text(t *testing.T, query string, args ...any) string {
	t.Helper()
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(), query, args...).Scan(&text))
	return text
}
