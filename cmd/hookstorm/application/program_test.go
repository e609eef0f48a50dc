package application_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// build builds a command of the repository.
func build(t *testing.T, name string) string {
	t.Helper()
	path, err := programs.Build(t.Context(), programs.BuildOptions{Dir: "../../..", Out: filepath.Join(t.TempDir(), name), Package: "cmd/" + name})
	require.NoError(t, err)
	return path
}

// newProgram returns `hookstorm app` on the database of pool, and the path of its configuration.
// The handler answer handles the requests of the program's effects.
func newProgram(t *testing.T, pool *pgxpool.Pool, answer http.HandlerFunc) (program *programs.Program, config string) {
	t.Helper()
	receiver := httptest.NewServer(answer)
	t.Cleanup(receiver.Close)
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	file, err := programs.NewConfiguration(filepath.Join(t.TempDir(), "hooklatch.yaml"), scenario.Settings{
		DatabaseURL: secret.New(pgtest.URL(t, pool)), GatewayListen: free[0], AdminListen: free[1],
		ReceiverURL: receiver.URL, MailHost: "127.0.0.1", MailPort: 9,
	})
	require.NoError(t, err)
	program, err = programs.New(programs.Options{
		Name: "app-1", Build: "now", Binary: build(t, "hookstorm"), Args: []string{"app", "--config", file.Path()},
		Log: file.Path() + ".log", ReadyURL: "http://" + free[1] + "/readyz", History: newRecords().Writer,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, program.Kill())
		if t.Failed() {
			t.Log(program.LastLines())
		}
	})
	return program, file.Path()
}

func startProgram(t *testing.T, p *programs.Program) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, p.Start(ctx))
	require.NoError(t, p.Ready(ctx))
}

func accept(t *testing.T, box *outbox.Outbox, source, id string) {
	t.Helper()
	_, err := box.Accept(t.Context(), outbox.Delivery{
		Source: identity.Source(source), Provider: "hmac", Handlers: scenario.SourceNamed(source).Handlers,
		Body:   fmt.Appendf(nil, `{"id":%q,"type":"paid","account":"acc_1","version":1,"occurred_at":"2026-11-22T06:00:00Z"}`, id),
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "paid"}},
	})
	require.NoError(t, err)
}

func number(t *testing.T, pool *pgxpool.Pool, query string, args ...any) int {
	t.Helper()
	return collect[int](t, pool, query, args...)[0]
}

// The program is killed while it handles events, and its handlers fail and panic. In the end
// every event has one row for each of its generations, and one effect.
func TestHandlersWriteOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	const old, kills = 150, 3 // the handler fails only for recently received events
	pool, box := newDatabase(t)
	program, config := newProgram(t, pool, func(http.ResponseWriter, *http.Request) {})
	logPath := config + ".log"
	moods := []string{"again in 150ms", "panic: ", "handled *: hookstorm makes the handler fail"}
	events := 0
	acceptNext := func() {
		accept(t, box, "handled", fmt.Sprintf("evt_%d", events))
		events++
	}
	waiting := func() int {
		return number(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`)
	}
	for range kills {
		for range old / kills {
			acceptNext()
		}
		before := waiting()
		startProgram(t, program)
		require.Eventually(t, func() bool { return waiting() < before }, 2*time.Minute, time.Millisecond)
		require.NoError(t, program.Kill())
	}
	// Postgres may still finish a COMMIT before it closes the connections of the dead process.
	require.Eventually(t, func() bool {
		return number(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hooklatch'`) == 0
	}, 2*time.Minute, time.Millisecond)
	// River's rescuer would release these jobs about a minute later.
	_, err := pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'available', attempt = 0 WHERE state = 'running'`)
	require.NoError(t, err)
	startProgram(t, program)
	said := func() bool {
		log, err := os.ReadFile(logPath)
		require.NoError(t, err)
		return !slices.ContainsFunc(moods, func(mood string) bool { return !strings.Contains(string(log), mood) })
	}
	// On a busy machine, all events of a mood may already be old when they are handled.
	for events < old+50 || events < 2000 && !said() {
		require.Eventually(t, func() bool { return waiting() < 10 }, 2*time.Minute, time.Millisecond, "too many events wait, so handlers would not see young ones")
		acceptNext()
	}
	settled := func() bool {
		return waiting() == 0 && number(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state <> 'done'`) == 0
	}
	require.Eventually(t, settled, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, events, number(t, pool, `SELECT count(*) FROM torture.handled`))
	require.Equal(t, events, number(t, pool, `SELECT count(DISTINCT (event_id, generation)) FROM torture.handled`))
	require.Equal(t, events, number(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE scope = 'enqueue:direct'`))

	for i := range 10 {
		ref := identity.EventRef{Source: "handled", EventID: identity.EventID(fmt.Sprintf("evt_%d", i))}
		_, err := box.Inbox().Replay(t.Context(), ref, ledger.Operator{Who: "ann", Via: "test"}, inbox.ReplayOptions{NewKeys: i%2 == 0})
		require.NoError(t, err)
	}
	require.Eventually(t, settled, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, events+10, number(t, pool, `SELECT count(*) FROM torture.handled`))
	require.Equal(t, 10, number(t, pool, `SELECT count(*) FROM torture.handled WHERE generation = 2`))
	require.Equal(t, events, number(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE scope = 'enqueue:direct'`))
	key, body := application.HandledEffect("evt_7")
	require.Equal(t, [][]byte{body}, collect[[]byte](t, pool, `SELECT request_body FROM hooklatch.effects WHERE key = $1`, key))

	require.NoError(t, program.Stop(t.Context()))
	how, _ := program.Ended()
	require.Equal(t, "exit status 0", how)
	log, err := os.ReadFile(logPath)
	require.NoError(t, err)
	for _, mood := range moods {
		require.Positive(t, strings.Count(string(log), mood), mood)
	}
}
