package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// tried is an App with tokens for viewers, operators and admins, and with events of two sources.
// The source crm has masked values.
type tried struct {
	*app.App

	pool *pgxpool.Pool
}

func newTried(t *testing.T) *tried {
	t.Helper()
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	require.NoError(t, os.WriteFile(f.path, []byte(`
database: {url: "`+f.database+`", allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0"}
admin:
  listen: "127.0.0.1:0"
  audit_reads: true
  tokens: [{name: a, role: viewer, token: token-of-the-viewer}, {name: b, role: operator, token: token-of-the-operator}, {name: c, role: admin, token: token-of-the-admin}]
  auth: {payloads: operator}
  console: {mask: {crm: [/customer]}}
sources:
  stripe: {provider: stripe, secrets: the-first-secret}
  crm: {provider: github, secrets: the-first-secret-of-the-crm}
destinations:
  app: {http: {url: "http://localhost:1/hook?canary=query", headers: {X-Shop: canary-of-a-header}, bearer: canary-of-a-secret}}
routes:
  - {name: paid, from: stripe, types: [invoice.*], to: app, http: {body: "{'of': body.customer}", headers: {X-Token: "'${TOKEN}'"}}}
  - {name: all, from: '*', to: app}
`), 0o600))
	cfg, err := f.loadWith(map[string]string{"TOKEN": "canary-of-a-variable"})
	require.NoError(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	<-a.Prepared()
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	for _, e := range []struct{ source, id, body string }{
		{"stripe", "evt_1", `{"customer": "ada", "amount": 5}`}, {"stripe", "evt_2", `{"amount": 50}`}, {"crm", "evt_3", `{"customer": "private"}`},
	} {
		_, err := box.Accept(t.Context(), outbox.Delivery{
			Source: identity.Source(e.source), Provider: e.source, ContentType: "application/json", Body: []byte(e.body),
			Events: []outbox.Incoming{{ID: identity.EventID(e.id), Type: "invoice.paid"}},
		})
		require.NoError(t, err)
	}
	return &tried{App: a, pool: pool}
}

// ask requests a page with the token of a role: with POST if form is not nil, otherwise with GET.
func (a *tried) ask(t *testing.T, role, path string, form url.Values) (int, string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	at := "http://" + a.AdminAddr().String()
	r, err := http.NewRequestWithContext(t.Context(), method, at+path, body)
	require.NoError(t, err)
	r.Close = true
	r.Header.Set("Authorization", "Bearer token-of-the-"+role)
	r.Header.Set("Origin", at)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.answer(t, r)
}

// try sends a route to the API.
func (a *tried) try(t *testing.T, role string, fields map[string]string) (int, string) {
	t.Helper()
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.AdminAddr().String()+"/api/try", bytes.NewReader(text))
	require.NoError(t, err)
	r.Close = true
	r.Header.Set("Authorization", "Bearer token-of-the-"+role)
	r.Header.Set("Content-Type", "application/json")
	return a.answer(t, r)
}

func (*tried) answer(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}

const typed = `name: paid
from: stripe
types: [invoice.*]
when: body.amount > 10
to: app
http:
  body: body.customer
`

// A typed route is compared with the configured route of the same name, on one event or on the
// events of a source.
func TestATypedRouteIsTriedOnStoredEvents(t *testing.T) {
	t.Parallel()
	a := newTried(t)
	status, page := a.ask(t, "operator", "/try?route=paid&event=stripe/evt_1", nil)
	require.Equal(t, http.StatusOK, status)
	page = html.UnescapeString(page)
	require.Contains(t, page, "name: paid\n")
	require.Contains(t, page, "${TOKEN}")
	require.NotContains(t, page, "canary")
	require.Contains(t, page, `value="stripe/evt_1"`)

	status, page = a.ask(t, "operator", "/try", url.Values{"route": {typed}, "source": {"stripe"}})
	require.Equal(t, http.StatusOK, status, page)
	page = html.UnescapeString(page)
	require.Contains(t, page, "Compared with the configured route paid.")
	require.Contains(t, page, "Events planned: 2")
	require.Contains(t, page, `parked: route "paid": http.body: no such key: customer`)
	require.Contains(t, page, "gone")

	var report struct {
		Route    string
		Replaces bool
		Events   int
		Effects  map[string]int
	}
	for text, replaces := range map[string]bool{typed: true, strings.Replace(typed, "name: paid", "name: fresh", 1): false, "routes:\n- {name: paid, from: stripe, to: app}": true, "- {name: paid, from: stripe, to: app}": true} {
		status, answer := a.try(t, "operator", map[string]string{"route": text, "event": "stripe/evt_1"})
		require.Equal(t, http.StatusOK, status, answer)
		require.NoError(t, json.Unmarshal([]byte(answer), &report))
		require.Equal(t, replaces, report.Replaces, text)
		require.Equal(t, 1, report.Events)
	}
	var written int
	require.NoError(t, a.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM hooklatch.effects) + (SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> 'received')`).Scan(&written))
	require.Zero(t, written)
	var noted int
	require.NoError(t, a.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.operator_log WHERE target LIKE 'try: %'`).Scan(&noted))
	require.Equal(t, 3, noted, "trials reveal payloads: each route is recorded once for a source or an event")
}

// A route that cannot be used is refused with its line and the allowed values.
func TestABadRouteIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	a := newTried(t)
	for text, says := range map[string]string{
		"":               "The route is empty",
		"name: [":        "is not valid YAML",
		"\x00":           "route",
		"a: &a [*a, *a]": "is not a key here",
		"just text":      "a mapping of keys to values is expected",
		"routes: []":     "has 0 routes; one is expected",
		"- {name: a, from: stripe, to: app}\n- {name: b, from: stripe, to: app}":                                     "has 2 routes; one is expected",
		strings.Replace(typed, "to: app", "to: appp", 1):                                                             `route:5: routes[0].to: "appp" is not a destination; did you mean "app"?`,
		strings.Replace(typed, "from: stripe", "from: stripr", 1):                                                    `did you mean "stripe"?`,
		strings.Replace(typed, "body.amount > 10", "body.amount >", 1):                                               "route:4: routes[0].when",
		strings.Replace(typed, "body.amount > 10", "bodi.amount > 1", 1):                                             "undeclared reference to 'bodi'",
		strings.Replace(typed, "body.amount > 10", strings.Repeat("body.a || ", 120)+"true", 1):                      "limit 1000",
		strings.Replace(typed, "body.amount > 10", "'"+strings.Repeat("[", 40)+strings.Repeat("]", 40)+" != []'", 1): "nested",
		strings.Repeat("# a long comment\n", 1200):                                                                   "at most 16384 are allowed",
		"name: <script>alert(1)</script>\nfrom: stripe\nto: app":                                                     "name",
	} {
		status, page := a.ask(t, "operator", "/try", url.Values{"route": {text}, "source": {"stripe"}})
		require.Equal(t, http.StatusUnprocessableEntity, status, text)
		require.Contains(t, html.UnescapeString(page), says, text)
		require.NotContains(t, page, "<script>alert")
		status, answer := a.try(t, "operator", map[string]string{"route": text, "source": "stripe"})
		require.Equal(t, http.StatusUnprocessableEntity, status, answer)
	}
	for _, test := range []struct {
		event, source string
		status        int
		says          string
	}{
		{"", "", http.StatusUnprocessableEntity, "Name a source or an event."},
		{"evt_1", "", http.StatusUnprocessableEntity, "SOURCE/EVENT_ID"},
		{"stripe/\x00", "", http.StatusUnprocessableEntity, "SOURCE/EVENT_ID"},
		{"stripe/none", "", http.StatusNotFound, "Event not found"},
		{"", "nothing", http.StatusOK, "Events planned: 0"},
	} {
		status, page := a.ask(t, "operator", "/try", url.Values{"route": {typed}, "event": {test.event}, "source": {test.source}})
		require.Equal(t, test.status, status, test)
		require.Contains(t, page, test.says)
	}
	// A regular expression on which backtracking engines hang is evaluated quickly, because RE2
	// needs linear time.
	bomb := strings.Replace(typed, "body.amount > 10", `'"`+strings.Repeat("a", 400)+`".matches("(a+)+$") && body.amount > 10'`, 1)
	status, page := a.ask(t, "operator", "/try", url.Values{"route": {bomb}, "source": {"stripe"}})
	require.Equal(t, http.StatusOK, status, page)
}

// A trial of a route reveals as much of a payload as a search condition does, so both require the
// same role.
func TestARouteIsTriedByThoseWhoSeePayloads(t *testing.T) {
	t.Parallel()
	a := newTried(t)
	for _, test := range []struct {
		role, source string
		want         int
	}{
		{"viewer", "stripe", http.StatusForbidden}, {"operator", "stripe", http.StatusOK}, {"admin", "stripe", http.StatusOK},
		{"viewer", "crm", http.StatusForbidden}, {"operator", "crm", http.StatusForbidden}, {"admin", "crm", http.StatusOK},
	} {
		text := strings.Replace(typed, "from: stripe", "from: '*'", 1)
		for _, form := range []url.Values{
			{"route": {text}, "source": {test.source}},
			{"route": {text}, "event": {map[string]string{"stripe": "stripe/evt_1", "crm": "crm/evt_3"}[test.source]}},
		} {
			status, page := a.ask(t, test.role, "/try", form)
			require.Equal(t, test.want, status, "%s %v", test.role, form)
			if test.want == http.StatusForbidden {
				require.NotContains(t, page, "private")
				require.Contains(t, page, "You may not search payloads")
			}
		}
	}
}

// The pages of routes contain no secret, and no value from the environment.
func TestPagesOfRoutesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	a := newTried(t)
	for _, path := range []string{"/routes", "/routes/paid", "/api/routes", "/api/routes/paid", "/try?route=paid"} {
		status, page := a.ask(t, "viewer", path, nil)
		require.Equal(t, http.StatusOK, status, path)
		require.NotContains(t, page, "canary", path)
		require.Contains(t, page, "paid", path)
	}
	_, page := a.ask(t, "viewer", "/routes/paid", nil)
	require.Contains(t, page, "${TOKEN}")
	require.Contains(t, page, "http://localhost:1/hook")
	status, page := a.ask(t, "viewer", "/routes/none", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, page, "No route none is in the configuration of this process.")
}
