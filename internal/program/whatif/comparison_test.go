package whatif_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// bundle is a database with events.
type bundle struct {
	pool *pgxpool.Pool
	box  *outbox.Outbox
}

func setup(t testing.TB, opts ...pgtest.Option) *bundle {
	t.Helper()
	b := &bundle{pool: pgtest.New(t, opts...)}
	var err error
	b.box, err = outbox.New(outbox.Options{Pool: b.pool, AcceptTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.box.Stop(context.Background())) })
	return b
}

// accept commits one event for each body, with the ids evt_1, evt_2 and so on.
func (b *bundle) accept(t testing.TB, eventType string, bodies ...string) {
	t.Helper()
	for i, body := range bodies {
		_, err := b.box.Accept(t.Context(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", ContentType: "application/json", Body: []byte(body),
			Events: []outbox.Incoming{{ID: identity.EventID("evt_" + strconv.Itoa(i+1)), Type: eventType}},
		})
		require.NoError(t, err)
	}
}

// table compiles routes, and adds the destination app with the given URL.
func table(t testing.TB, url string, routes ...route.Route) *route.Table {
	t.Helper()
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: url, Headers: map[string]string{"X-Shop": "one"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	compiled, err := route.Compile(route.Options{Routes: routes, Targets: []route.Target{{Name: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce, Sender: sender}}})
	require.NoError(t, err)
	return compiled
}

func (b *bundle) comparison(old, next *route.Table) *whatif.Comparison {
	return &whatif.Comparison{Old: old, New: next, Finder: b.box.Finder().With(route.CompileCondition), Inbox: b.box.Inbox()}
}

const appURL = "https://app.example/hook"

// paid returns the route that tests change.
func paid(change ...func(*route.Route)) route.Route {
	r := route.Route{Name: "paid", From: []string{"stripe"}, To: "app"}
	for _, f := range change {
		f(&r)
	}
	return r
}

// Each change of a route or its destination is reported with its kind.
func TestEachChangeIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"customer": "ada", "amount": 5}`, `{"customer": "bob", "amount": 50}`, `{"amount": 500}`)
	withBody := func(body string) func(*route.Route) {
		return func(r *route.Route) { r.HTTP = &route.HTTPRequest{Body: body} }
	}
	old := table(t, appURL, paid(withBody("body.amount")))
	for name, test := range map[string]struct {
		next    *route.Table
		renamed map[string]string
		want    []string // kind, count, known errors and fields of each group
	}{
		"nothing":          {next: old},
		"removed":          {next: table(t, appURL), want: []string{"gone 3 0 "}},
		"added":            {next: table(t, appURL, paid(withBody("body.amount")), route.Route{Name: "more", From: []string{"*"}, To: "app"}), want: []string{"added 3 0 "}},
		"renamed":          {next: table(t, appURL, route.Route{Name: "new", From: []string{"stripe"}, To: "app", HTTP: &route.HTTPRequest{Body: "body.amount"}}), renamed: map[string]string{"paid": "new"}, want: []string{"changed 3 0 route,key"}},
		"narrower":         {next: table(t, appURL, paid(withBody("body.amount"), func(r *route.Route) { r.When = "body.amount > 10" })), want: []string{"gone 1 0 "}},
		"another key":      {next: table(t, appURL, paid(withBody("body.amount"), func(r *route.Route) { r.Key = "body.amount" })), want: []string{"changed 3 0 key"}},
		"fails for one":    {next: table(t, appURL, paid(withBody("body.customer"))), want: []string{"error 1 0 parked,method,url,headers,content_type,body", "changed 2 0 body"}},
		"fails when":       {next: table(t, appURL, paid(withBody("body.amount"), func(r *route.Route) { r.When = `body.customer == "ada"` })), want: []string{"error 1 0 parked,method,url,headers,content_type,body", "gone 1 0 "}},
		"destination":      {next: table(t, "https://other.example/", paid(withBody("body.amount"))), want: []string{"changed 3 0 url"}},
		"order and latest": {next: table(t, appURL, paid(withBody("body.amount"), func(r *route.Route) { r.LatestBy = "body.amount" })), want: []string{"changed 3 0 latest_by"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := b.comparison(old, test.next)
			c.Renamed = test.renamed
			r, err := c.Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 100}, nil)
			require.NoError(t, err)
			var got []string
			for _, g := range r.Groups {
				got = append(got, fmt.Sprintf("%s %d %d %s", g.Kind, g.Count, g.Known, strings.Join(g.Fields, ",")))
				require.LessOrEqual(t, len(g.Examples), whatif.MostExamples)
				require.NotEmpty(t, g.Examples)
			}
			require.Equal(t, test.want, got)
			require.Equal(t, 3, r.Events)
			require.False(t, r.More)
		})
	}
}

// An event whose last replay was for one route is compared for all routes.
func TestAReplayOfOneRouteHidesNoOtherRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{}`)
	e, err := b.box.Inbox().Event(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"})
	require.NoError(t, err)
	e.OnlyRoute = "another"
	r, err := b.comparison(table(t, appURL, paid()), table(t, appURL)).One(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, 1, r.Effects[whatif.Gone])
}

// An error that both configurations have is counted, but is not a difference.
func TestKnownErrorsAreNoDifference(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"amount": 5}`)
	same := table(t, appURL, paid(func(r *route.Route) { r.When = "body.none" }))
	r, err := b.comparison(same, same).Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 100}, nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 0}, []int{r.Errors(), r.KnownErrors, r.Different})
	require.Equal(t, "1 (1 before too)", r.Groups[0].Counted())
	require.Contains(t, strings.Join(r.Groups[0].Examples[0].After.Lines(), "\n"), "parked: route \"paid\": when: no such key: none")
}

// If events share a key, only the first event creates the effect, so all events together have fewer
// effects than planned.
func TestKeysThatEventsShareAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"invoice": 1}`, `{"invoice": 1}`, `{"invoice": 2}`)
	sharing := table(t, appURL, paid(func(r *route.Route) { r.Key = "body.invoice" }))
	for name, c := range map[string]struct {
		old, next *route.Table
		added     int
		together  whatif.Together
		says      string
	}{
		"added":   {old: table(t, appURL), next: sharing, added: 3, together: whatif.Together{Added: 2}, says: "2 effects are added and 0 are gone"},
		"matched": {old: table(t, appURL, paid(func(r *route.Route) { r.Key, r.When = "body.invoice", `event.id != "evt_1"` })), next: sharing, added: 1, says: "0 effects are added and 0 are gone"},
		"own":     {old: table(t, appURL), next: table(t, appURL, paid()), added: 3, together: whatif.Together{Added: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := b.comparison(c.old, c.next).Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 100}, nil)
			require.NoError(t, err)
			require.Equal(t, c.added, r.Effects[whatif.Added])
			require.Equal(t, &c.together, r.Together)
			require.Contains(t, r.SharedKeys(), c.says)
			require.Equal(t, c.says == "", r.SharedKeys() == "")
		})
	}
}

// Effects are shown as rendered: with the method, URL and headers of the destination.
func TestExamplesAreRendered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"text": "`+strings.Repeat("ä", whatif.MostBody)+`"}`)
	r, err := b.comparison(table(t, appURL), table(t, appURL, paid())).Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 1}, nil)
	require.NoError(t, err)
	after := r.Groups[0].Examples[0].After
	require.Nil(t, r.Groups[0].Examples[0].Before)
	lines := after.Lines()
	require.Equal(t, []string{"paid -> app, key evt_1", "POST " + appURL, "X-Shop: one", "Content-Type: application/json"}, append(lines[:2:2], lines[len(lines)-3:len(lines)-1]...))
	require.True(t, after.Cut())
	require.LessOrEqual(t, len(after.Body), whatif.MostBody)
	require.Equal(t, 2*whatif.MostBody+12, after.BodyBytes)
	_, err = json.Marshal(r)
	require.NoError(t, err)
}

// A walk that stops at its limit returns a cursor, at which the next walk begins. The walks
// together find the same changes as one walk over all events.
func TestAWalkGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var bodies []string
	for i := range 130 {
		bodies = append(bodies, fmt.Sprintf(`{"amount": %d}`, i))
	}
	b.accept(t, "invoice.paid", bodies...)
	c := b.comparison(table(t, appURL), table(t, appURL, paid(func(r *route.Route) { r.When = "body.amount < 100" })))
	looked, added, steps := 0, 0, 0
	for at, more := find.Beginning, true; more; {
		called := 0
		r, err := c.Walk(t.Context(), find.Events{Type: "invoice.*"}, at, whatif.Limits{Events: 60, Rest: 0.1}, func(*whatif.Report) { called++ })
		require.NoError(t, err)
		require.LessOrEqual(t, r.Looked, 60)
		require.Equal(t, (r.Looked+49)/50, called, "progress after each batch")
		looked, added, steps, at, more = looked+r.Looked, added+r.Effects[whatif.Added], steps+1, r.Next, r.More
	}
	require.Equal(t, []int{130, 100, 3}, []int{looked, added, steps})

	began := time.Now()
	r, err := c.Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 1000, Time: time.Nanosecond}, nil)
	require.NoError(t, err)
	require.True(t, r.More)
	require.Zero(t, r.Looked, "the time limit is over")
	require.Less(t, time.Since(began), patience)
}

// An event whose content is erased, redacted or deleted is left out, and counted.
func TestEventsWithoutTheirContentAreLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"amount": 1}`, `{"amount": 2}`, `{"amount": 3}`, `{"amount": 4}`)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET erased_at = now() WHERE event_id = 'evt_1'`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET redacted_at = now() WHERE event_id = 'evt_2'`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries WHERE convert_from(body, 'UTF8') LIKE '%3}'`)
	require.NoError(t, err)
	c := b.comparison(table(t, appURL), table(t, appURL, paid()))
	r, err := c.Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 100}, nil)
	require.NoError(t, err)
	require.Equal(t, []int{4, 1, 3, 1}, []int{r.Looked, r.Events, r.Bodiless, r.Effects[whatif.Added]})
	require.Equal(t, []string{"3 left out: content is no longer stored as received"}, r.LeftOut())
	for id, want := range map[identity.EventID]error{"evt_1": whatif.ErrGone, "evt_4": nil} {
		e, err := b.box.Inbox().Event(t.Context(), identity.EventRef{Source: "stripe", EventID: id})
		require.NoError(t, err)
		_, err = c.One(t.Context(), e)
		require.ErrorIs(t, err, want)
	}
}

// The report is bounded, whatever event types senders choose.
func TestAReportIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range whatif.MostGroups + 20 {
		_, err := b.box.Accept(t.Context(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", Body: []byte("\x00\xff"),
			Events: []outbox.Incoming{{ID: identity.EventID("evt_" + strconv.Itoa(i)), Type: "<script>\x1b[2J" + strconv.Itoa(i)}},
		})
		require.NoError(t, err)
	}
	r, err := b.comparison(table(t, appURL), table(t, appURL, paid())).Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 10_000}, nil)
	require.NoError(t, err)
	require.Len(t, r.Groups, whatif.MostGroups)
	require.Equal(t, 20, r.Ungrouped)
	require.Equal(t, whatif.MostGroups+20, r.Effects[whatif.Added])
	exemplified := 0
	for _, g := range r.Groups {
		for _, e := range g.Examples {
			exemplified++
			require.Contains(t, e.After.Lines(), "(2 bytes that are not text)")
		}
	}
	require.Equal(t, whatif.MostExemplified, exemplified, "one event of each type")
}

// If the database becomes unavailable or the caller stops, the walk ends and returns its results so
// far.
func TestAWalkEndsWithItsDatabaseAndItsCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var bodies []string
	for range 120 {
		bodies = append(bodies, `{"amount": 1}`)
	}
	b.accept(t, "invoice.paid", bodies...)
	c := b.comparison(table(t, appURL), table(t, appURL, paid()))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := c.Walk(ctx, find.Events{}, find.Beginning, whatif.Limits{Events: 100}, func(*whatif.Report) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 50, r.Effects[whatif.Added])
	require.Len(t, r.Groups, 1)
	b.pool.Close()
	_, err = c.Walk(t.Context(), find.Events{}, r.Next, whatif.Limits{Events: 100}, nil)
	require.Error(t, err)
}

// Two configurations of 500 routes each are compared. Only the report is kept in memory, not the
// plan of each route for each event.
func TestManyRoutesAreCompared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "invoice.paid", `{"amount": 5}`, `{"amount": 7}`)
	var old, next []route.Route
	for i := range 500 {
		named := func(r *route.Route) { r.Name = "r" + strconv.Itoa(i) }
		old = append(old, paid(named))
		next = append(next, paid(named, func(r *route.Route) { r.When = fmt.Sprintf("body.amount > %d", i%10) }))
	}
	r, err := b.comparison(table(t, appURL, old...), table(t, appURL, next...)).Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 10}, nil)
	require.NoError(t, err)
	require.Equal(t, 50*(5+3), r.Effects[whatif.Gone])
	require.Equal(t, 2, r.Different)
}

// BenchmarkWalk compares two versions of three routes, one of which differs, on events with bodies
// of about 400 bytes.
func BenchmarkWalk(b *testing.B) {
	filled := setup(b)
	rows := 10_000
	if os.Getenv("HOOKLATCH_LONG") != "" {
		rows = 100_000
	}
	text, err := os.ReadFile("../../../outbox/find/testdata/fill.sql")
	require.NoError(b, err)
	_, err = filled.pool.Exec(b.Context(), strings.ReplaceAll(string(text), ":rows", strconv.Itoa(rows)))
	require.NoError(b, err)
	_, err = filled.pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	routes := func(when string) []route.Route {
		return []route.Route{
			{Name: "all", From: []string{"*"}, To: "app"},
			{Name: "some", From: []string{"stripe"}, To: "app", When: when},
			{Name: "rendered", From: []string{"stripe"}, Types: []string{"invoice.*"}, To: "app", Key: "body.id", HTTP: &route.HTTPRequest{Body: `{"of": body.customer, "text": body.text}`}},
		}
	}
	c := filled.comparison(table(b, appURL, routes(`body.customer == "cus_1"`)...), table(b, appURL, routes(`body.customer.startsWith("cus_1")`)...))
	for b.Loop() {
		r, err := c.Walk(b.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: rows, Rest: 0}, nil)
		require.NoError(b, err)
		require.Equal(b, rows, r.Events)
		require.NotZero(b, r.Effects[whatif.Added])
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
