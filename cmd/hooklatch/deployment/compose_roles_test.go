package deployment

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"
)

// The processes of compose.yaml do their work with its roles: an event is accepted, dispatched,
// indexed, delivered, and found again.
func TestTheRolesOfComposeSuffice(t *testing.T) {
	t.Parallel()
	const patience, tick = 3 * time.Minute, 20 * time.Millisecond
	delivered := make(chan http.Header, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { delivered <- r.Header }))
	t.Cleanup(receiver.Close)
	d := deploy(t)
	d.env["APP_URL"] = receiver.URL
	for range 2 { // an operator runs the script again to change a password
		d.createRoles(t)
	}
	config, _, _ := configure(t)
	require.NoError(t, d.command(t, "migrate", config, d.compose.Services["migrate"].Command...).Run())
	for range 2 { // an operator runs grants.sql after each migration
		d.grant(t)
	}

	var gateway, console string
	configs := map[string]string{}
	for _, service := range []string{"gateway", "worker"} {
		config, url, admin := configure(t)
		configs[service] = config
		if service == "gateway" {
			gateway = url
		}
		console = admin
		d.start(t, service, config, admin)
	}
	run := func(service string, args ...string) {
		t.Helper()
		command := d.command(t, service, configs[service], append(args, "--config", configs[service])...)
		require.NoError(t, command.Run(), "%s %s", service, strings.Join(args, " "))
	}
	run("gateway", "send", "stripe", "--id", "evt_1", "--url", gateway)
	select {
	case header := <-delivered:
		require.NotEmpty(t, header.Get("Webhook-Signature"))
	case <-time.After(patience):
		require.Fail(t, "nothing was delivered")
	}
	owner := d.pool(t, "migrate")
	for what, query := range map[string]string{
		"dispatched":    `FROM hooklatch.processed_events WHERE outcome = 'dispatched'`,
		"linked":        `FROM hooklatch.all_links`,
		"indexed":       `FROM hooklatch.search_values`,
		"done":          `FROM hooklatch.effects WHERE state = 'done'`,
		"two processes": `FROM hooklatch.processes HAVING count(*) = 2`,
	} {
		require.Eventually(t, func() bool {
			var found int
			return owner.QueryRow(t.Context(), "SELECT 1 "+query+" LIMIT 1").Scan(&found) == nil
		}, patience, tick, what)
	}
	for _, args := range []string{"events show stripe/evt_1", "events replay stripe/evt_1 --yes", "find evt_1", "effects list", "status", "check"} {
		run("worker", strings.Fields(args)...)
	}
	run("gateway", "status")
	// The console runs in the worker, whose role may read the data that the console shows.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, console+"/api/events/stripe/evt_1", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+interpolate(d.compose.Services["worker"].Environment["HOOKLATCH_ADMIN_TOKEN"]))
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, d.logs.String(), "hooklatch_worker has all rights that a worker needs")
	require.NotContains(t, d.logs.String(), "permission denied")
}

// After the script has run, a changed password in .env is in effect, and the former password is
// not. The same holds for the superuser's password.
func TestTheScriptOfComposeChangesPasswords(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.createRoles(t)
	accepted := func(role, password string) bool {
		at := *d.server
		at.User = url.UserPassword(role, password)
		conn, err := pgx.Connect(t.Context(), at.String())
		if err != nil {
			require.ErrorContains(t, err, "(SQLSTATE 28P01)") // invalid_password
			return false
		}
		require.NoError(t, conn.Close(t.Context()))
		return true
	}
	set := d.compose.Services["postgres"].Environment
	roles := map[string]string{
		"POSTGRES_PASSWORD": d.server.User.Username(), "HOOKLATCH_PASSWORD": "hooklatch", "HOOKLATCH_GATEWAY_PASSWORD": "hooklatch_gateway",
		"HOOKLATCH_WORKER_PASSWORD": "hooklatch_worker", "HOOKLATCH_RIVERUI_PASSWORD": "hooklatch_riverui",
	}
	for variable := range set {
		require.Contains(t, roles, variable)
		require.True(t, accepted(roles[variable], interpolate(set[variable])), variable)
		d.env[variable] = "changed " + variable
	}
	d.createRoles(t)
	for variable, role := range roles {
		require.False(t, accepted(role, interpolate(set[variable])), variable)
		require.True(t, accepted(role, "changed "+variable), variable)
	}
}

// No service of compose.yaml has more rights than it needs.
func TestTheRolesOfComposeAreRestricted(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t)
	for service, refused := range map[string][]string{
		"gateway": {"SELECT body FROM hooklatch.deliveries", "SELECT * FROM hooklatch.search_values", "DROP TABLE hooklatch.effects", "CREATE SCHEMA other"},
		"worker":  {"DROP TABLE hooklatch.effects", "CREATE TABLE hooklatch.other ()", "CREATE SCHEMA other"},
		"riverui": {"SELECT * FROM hooklatch.deliveries", "SELECT * FROM hooklatch.effects", "DROP TABLE hooklatch.river_job"},
		"migrate": {"CREATE ROLE other", "CREATE DATABASE other", "COPY (SELECT 1) TO PROGRAM 'true'"},
	} {
		pool := d.pool(t, service)
		for _, statement := range refused {
			_, err := pool.Exec(t.Context(), statement)
			require.ErrorContains(t, err, "(SQLSTATE 42501)", "%s: %s", service, statement) // insufficient_privilege
		}
		var privileged bool
		require.NoError(t, pool.QueryRow(t.Context(), `
			SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication FROM pg_roles WHERE rolname = current_user`).Scan(&privileged))
		require.False(t, privileged, service)
	}
	// River UI works with all of River's tables, including tables that a later version of River
	// adds.
	var missing []string
	require.NoError(t, d.pool(t, "riverui").QueryRow(t.Context(), `
		SELECT COALESCE(array_agg(relname::text), '{}') FROM pg_class
		WHERE relnamespace = 'hooklatch'::regnamespace AND relkind = 'r' AND relname LIKE 'river\_%'
			AND NOT has_table_privilege(oid, 'SELECT')`).Scan(&missing))
	require.Empty(t, missing)
}

// River UI uses River's client to list, cancel, retry and delete jobs, and to pause queues.
func TestTheRoleOfRiverUISuffices(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t)
	var id int64
	require.NoError(t, d.pool(t, "migrate").QueryRow(t.Context(), `
		WITH queue AS (INSERT INTO hooklatch.river_queue (name, updated_at) VALUES ('effects', now()))
		INSERT INTO hooklatch.river_job (kind, args, queue, max_attempts) VALUES ('test', '{}', 'effects', 1) RETURNING id`).Scan(&id))
	client, err := river.NewClient(riverpgxv5.New(d.pool(t, "riverui")), &river.Config{Schema: d.compose.Services["riverui"].Environment["RIVER_SCHEMA"]})
	require.NoError(t, err)
	jobs, err := client.JobList(t.Context(), river.NewJobListParams())
	require.NoError(t, err)
	require.Len(t, jobs.Jobs, 1)
	_, err = client.JobCancel(t.Context(), id)
	require.NoError(t, err)
	_, err = client.JobRetry(t.Context(), id)
	require.NoError(t, err)
	_, err = client.JobDelete(t.Context(), id)
	require.NoError(t, err)
	queues, err := client.QueueList(t.Context(), river.NewQueueListParams())
	require.NoError(t, err)
	require.Len(t, queues.Queues, 1)
	require.NoError(t, client.QueuePause(t.Context(), "effects", nil))
	require.NoError(t, client.QueueResume(t.Context(), "effects", nil))
}

// grants.sql contains the SQL statements of docs/operations.md, so that the tests of grants.sql
// also test the page.
func TestComposeGrantsWhatThePageGrants(t *testing.T) {
	t.Parallel()
	granted, page := string(readFile(t, "docs/examples/compose/grants.sql")), string(readFile(t, "docs/operations.md"))
	found := 0
	for _, block := range regexp.MustCompile("(?s)```sql\n(-- (?:roles|backfill|export|runs|redact):.*?)```").FindAllStringSubmatch(page, -1) {
		if strings.Contains(block[1], "TO hooklatch_reader") {
			continue // compose.yaml starts no reader
		}
		require.Contains(t, granted, block[1], "copy the statements of docs/operations.md into grants.sql")
		granted = strings.Replace(granted, block[1], "", 1)
		found++
	}
	require.Equal(t, 6, found)
	require.NotRegexp(t, "hooklatch_(gateway|worker)", granted, "docs/operations.md does not have these statements")
}
