package deployment

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// grantsOf returns the statements in docs/operations.md for one role and purpose, in which the name
// own replaces the role's name.
func grantsOf(t *testing.T, purpose, role, own string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```sql\n(-- "+purpose+":.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], " TO "+role) {
			return strings.ReplaceAll(block[1], role, own)
		}
	}
	require.Fail(t, "the page has no grants", role)
	return ""
}

// withRole creates a role with the privileges that docs/operations.md gives to the named role, and
// returns the new role's connection URL.
func withRole(t *testing.T, pool *pgxpool.Pool, role string) string {
	t.Helper()
	database := pool.Config().ConnConfig.Database
	own := role + "_" + database[len(database)-12:]
	for _, statement := range []string{"CREATE ROLE " + own + " LOGIN PASSWORD 'secret'", grantsOf(t, "roles", role, own)} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	u, err := url.Parse(pgtest.URL(t, pool))
	require.NoError(t, err)
	u.User = url.UserPassword(own, "secret")
	return u.String()
}

// Gateway and worker run with the roles of docs/operations.md: an event is accepted and dispatched,
// and its effects are done. Retention deletes expired data, including partitions, a backfill stores
// events, a promoted server is confirmed, an event is redacted, and bulk runs are carried out.
func TestProcessesRunWithTheRightsOfThePage(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	as := func(role string) func(*config.Config) {
		database := secret.New(withRole(t, pool, role))
		return func(cfg *config.Config) { cfg.Database.URL, cfg.Database.DirectURL = database, secret.Value{} }
	}
	var beats atomic.Int32
	heart := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats.Add(1) }))
	t.Cleanup(heart.Close)
	asWorker := as("hooklatch_worker")
	worker := clitest.NewSystem(t, clitest.SystemOptions{Pool: pool, NoGateway: true, Change: func(cfg *config.Config) {
		asWorker(cfg)
		cfg.Alerts.To, cfg.Alerts.Heartbeat = []config.AlertTarget{{Destination: "mail", Recipient: "ops@example.com"}}, secret.New(heart.URL)
	}})
	asGateway := as("hooklatch_gateway")
	gateway := clitest.NewSystem(t, clitest.SystemOptions{Pool: pool, NoWorker: true, Change: func(cfg *config.Config) {
		asGateway(cfg)
		github := cfg.Sources["github"]
		github.Secrets = []config.Secret{{Value: secret.New("not the right one 0123456789")}} // the worker has the right secret
		cfg.Sources["github"] = github
	}})
	for range 2 { // the second delivery is a duplicate
		clitest.Must(t, gateway.Args("send", "stripe", "--id", "evt_1")...)
	}
	var refused clitest.Command
	require.Equal(t, cli.ExitFailed, refused.Run(t.Context(), "send", "github", "--id", "evt_2", "--config", worker.ConfigPath, "--url", gateway.URL))
	worker.WaitDone(t, "stripe", "evt_1")
	require.Eventually(t, func() bool {
		return worker.Counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events WHERE duplicates = 1 AND duplicate_times <> '{}'`) &&
			worker.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) && worker.Counts(t, 1, `SELECT count(*) FROM hooklatch.known_addresses`) &&
			worker.Counts(t, 2, `SELECT count(*) FROM hooklatch.processes`) &&
			worker.Counts(t, 1, `SELECT least(count(*), 1) FROM hooklatch.river_job WHERE kind = 'upkeep.retention' AND state = 'completed'`) && // added by the worker at its start, and again every 30 seconds
			worker.Counts(t, 1, `SELECT least(count(*), 1) FROM hooklatch.river_job WHERE kind = 'upkeep.minutes' AND state = 'completed'`) &&
			beats.Load() > 0 && // alerts were evaluated and stored
			worker.Counts(t, 2, `SELECT count(DISTINCT what) FROM hooklatch.minutes WHERE what IN ('accepted', 'done')`) // each process writes its counts within ten seconds
	}, clitest.Patience, clitest.Tick)

	// The test creates past days as the owner of the tables.
	for _, statement := range []string{
		`CREATE TABLE hooklatch.deliveries_20200101 PARTITION OF hooklatch.deliveries FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')`,
		`CREATE TABLE hooklatch.links_20200101 PARTITION OF hooklatch.links FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')`,
		`UPDATE hooklatch.effects SET created_at = '2020-01-01Z', finished_at = '2020-01-01Z'`,
		`UPDATE hooklatch.processed_events SET received_at = '2020-01-01Z', processed_at = '2020-01-01Z'`,
		`DELETE FROM hooklatch.retention_progress`, // written by the worker's run
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	own, err := pgxpool.New(t.Context(), worker.Config.Database.URL.Reveal())
	require.NoError(t, err)
	t.Cleanup(own.Close)
	o, err := outbox.New(outbox.Options{Pool: own})
	require.NoError(t, err)
	for _, approved := range []*ledger.Operator{nil, {Who: "ann", Via: "test"}} {
		var report retention.Report
		require.Eventually(t, func() bool { // a run of the worker may be in progress
			report, err = o.Retention().Run(t.Context(), retention.Order{Approved: approved})
			return !errors.Is(err, retention.ErrBusy)
		}, clitest.Patience, clitest.Tick)
		require.NoError(t, err)
		require.Equal(t, approved == nil, report.Stopped)
		require.Equal(t, approved != nil, report.Complete)
	}
	for _, nothing := range []string{
		`SELECT count(*) FROM hooklatch.processed_events`, `SELECT count(*) FROM hooklatch.effects`,
		`SELECT count(*) FROM pg_class WHERE relname IN ('deliveries_20200101', 'links_20200101')`,
	} {
		require.True(t, worker.Counts(t, 0, nothing), nothing)
	}
	strangers, err := pgxpool.New(t.Context(), gateway.Config.Database.URL.Reveal())
	require.NoError(t, err)
	t.Cleanup(strangers.Close)
	for who, of := range map[*pgxpool.Pool][]string{
		own: {
			`SELECT hooklatch.drop_day('deliveries', (now() AT TIME ZONE 'UTC')::date)`,
			`SELECT hooklatch.drop_day('processed_events', '2020-01-01')`,
			`DROP TABLE hooklatch.effects`,
			`INSERT INTO hooklatch.processed_events SELECT * FROM hooklatch.processed_events`,
		},
		strangers: {
			`SELECT body FROM hooklatch.deliveries`,
			`SELECT request_body FROM hooklatch.effects`, `SELECT request_headers FROM hooklatch.effects`, `SELECT request_url FROM hooklatch.effects`,
			`SELECT response_excerpt FROM hooklatch.effects`, `SELECT response_excerpt FROM hooklatch.all_attempts`, `SELECT * FROM hooklatch.attempts`,
			`SELECT * FROM hooklatch.operator_log`, `SELECT * FROM hooklatch.event_replays`,
			`UPDATE hooklatch.effects SET state = 'cancelled'`, `DELETE FROM hooklatch.processed_events`, `UPDATE hooklatch.destinations SET operator_paused = true`,
			`SELECT hooklatch.drop_day('deliveries', '2020-01-01')`, `INSERT INTO hooklatch.operator_log DEFAULT VALUES`,
		},
	} {
		for _, statement := range of {
			_, err := who.Exec(t.Context(), statement)
			require.Error(t, err, statement)
		}
	}
	_, err = pool.Exec(t.Context(), grantsOf(t, "backfill", "hooklatch_worker", own.Config().ConnConfig.User))
	require.NoError(t, err)
	fetched := outbox.Delivery{
		Source: "stripe", Provider: "stripe", Origin: identity.Backfill, Body: []byte(`{"id":"evt_of_the_list"}`), ContentWindow: time.Hour,
		Events: []outbox.Incoming{{ID: "evt_of_the_list", Type: "invoice.paid"}},
	}
	list := coverage.Stream{Source: "stripe"}
	pass, err := o.Coverage().Begin(t.Context(), list, false, time.Minute, 0)
	require.NoError(t, err)
	_, err = o.Coverage().Ask(t.Context(), list, coverage.Redelivery{EventID: "evt_x", Ref: "1", HappenedAt: pass.Now, Tries: 1})
	require.NoError(t, err)
	_, _, err = o.AcceptTogether(t.Context(), []outbox.Delivery{fetched}, func(ctx context.Context, tx pgx.Tx, came []outbox.Acceptance) error {
		require.Equal(t, 1, came[0].New())
		return o.Coverage().MoveTx(ctx, tx, pass, coverage.Move{CoveredUntil: pass.Now})
	})
	require.NoError(t, err)
	for _, spoken := range []func() error{
		func() error { _, err := o.Repair().FollowPromotion(t.Context()); return err },
		func() error { return o.Repair().Promoted(t.Context(), ledger.Operator{Who: "ann", Via: "test"}) },
	} {
		_, err := pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = timeline - 1`)
		require.NoError(t, err)
		require.NoError(t, spoken())
		state, err := o.Repair().State(t.Context())
		require.NoError(t, err)
		require.False(t, state.Withheld)
	}
	_, err = pool.Exec(t.Context(), grantsOf(t, "redact", "hooklatch_worker", own.Config().ConnConfig.User))
	require.NoError(t, err)
	worker.WaitDone(t, "stripe", "evt_of_the_list")
	worker.Settle(t)
	for _, ended := range []string{"1 hour", "-1 hour"} { // the first time, the event waits
		_, err := pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET processed_at = now() + $1::interval WHERE event_id = 'evt_of_the_list'`, ended)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `UPDATE hooklatch.effects SET finished_at = now() + $1::interval WHERE event_id = 'evt_of_the_list'`, ended)
		require.NoError(t, err)
		done, err := o.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: "stripe", Pointers: []string{"/id"}, After: time.Minute}})
		require.NoError(t, err)
		require.Equal(t, ended == "1 hour", done.Waiting == 1)
		require.Equal(t, ended == "-1 hour", done.Events == 1)
	}
	_, err = pool.Exec(t.Context(), grantsOf(t, "runs", "hooklatch_worker", own.Config().ConnConfig.User))
	require.NoError(t, err)
	clitest.Must(t, worker.Args("quarantine", "retry", "--source", "github", "--yes", "--detach")...)
	worker.WaitDone(t, "github", "evt_2")
	clitest.Must(t, worker.Args("events", "erase", "--source", "github", "--yes", "--detach")...)
	require.Eventually(t, func() bool {
		return worker.Counts(t, 2, `SELECT count(*) FROM hooklatch.replay_runs WHERE state = 'done' AND changed = 1`) &&
			worker.Counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_2' AND erased_at IS NOT NULL`)
	}, clitest.Patience, clitest.Tick)
	for _, s := range []*clitest.System{worker, gateway} {
		require.NotContains(t, s.Logs.String(), "permission denied")
	}
}

func TestAReaderSeesNoPayload(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reader, err := pgxpool.New(t.Context(), withRole(t, pool, "hooklatch_reader"))
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	for _, seen := range []string{"processed_events", "all_links", "effect_transitions", "operator_log", "installation", "this_server()"} {
		_, err := reader.Exec(t.Context(), "SELECT * FROM hooklatch."+seen)
		require.NoError(t, err)
	}
	_, err = doctor.ReadStatus(t.Context(), doctor.StatusOptions{Pool: reader})
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: reader})
	require.NoError(t, err)
	book, err := alarm.NewBook(reader, schema.Default, box.Ledger())
	require.NoError(t, err)
	_, err = book.List(t.Context())
	require.NoError(t, err)
	for _, refused := range []string{"SELECT body FROM hooklatch.deliveries", "SELECT request_body FROM hooklatch.effects", "SELECT response_excerpt FROM hooklatch.effects",
		"SELECT response_excerpt FROM hooklatch.all_attempts", "DELETE FROM hooklatch.destinations"} {
		_, err := reader.Exec(t.Context(), refused)
		require.ErrorContains(t, err, "permission denied", refused)
	}
}
