package whatif_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

const patience = time.Minute

// world is a database whose events a program has dispatched, with the program's configuration.
type world struct {
	pool   *pgxpool.Pool
	box    *outbox.Outbox
	config *config.Config
}

// dispatched accepts the deliveries in a new database, and lets a program with the settings
// dispatch the events in their order and carry out all effects.
func dispatched(t *testing.T, rt *rapid.T, s settings, mailPort string, deliveries []outbox.Delivery) world {
	t.Helper()
	w := world{pool: pgtest.New(t)}
	var err error
	text := s.yaml(pgtest.URL(t, w.pool), mailPort)
	w.config, err = config.Parse("hooklatch.yaml", []byte(text), func(string) (string, bool) { return "", false })
	require.NoError(rt, err, text)
	require.NoError(rt, app.CheckConfig(w.config), text)
	_, err = w.pool.Exec(t.Context(), "CREATE TABLE noted (what text)")
	require.NoError(rt, err)
	w.box, err = outbox.New(outbox.Options{Pool: w.pool, AcceptTimeout: patience})
	require.NoError(rt, err)
	t.Cleanup(func() { _ = w.box.Stop(context.Background()) })
	a, err := app.New(t.Context(), app.Options{Config: w.config, Worker: true})
	require.NoError(rt, err)
	require.NoError(rt, a.Start(t.Context()))
	for _, d := range deliveries {
		_, err := w.box.Accept(t.Context(), d)
		require.NoError(rt, err)
		w.waitForNo(t, rt, "SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'")
	}
	w.waitForNo(t, rt, "SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt')")
	require.NoError(rt, a.Stop(context.Background()))
	return w
}

// waitForNo waits until the count of a query is 0.
func (w world) waitForNo(t *testing.T, rt *rapid.T, query string) {
	require.Eventually(rt, func() bool {
		var left int
		err := w.pool.QueryRow(t.Context(), query).Scan(&left)
		return err == nil && left == 0
	}, patience, 10*time.Millisecond, query)
}

// drawDeliveries returns deliveries of both sources. Some events have the same customer, and so the
// same key; some events have no customer.
func drawDeliveries(t *rapid.T) []outbox.Delivery {
	n := rapid.IntRange(4, 12).Draw(t, "events")
	list := make([]outbox.Delivery, n)
	for i := range list {
		customer := rapid.SampledFrom([]string{`"customer": "ada", `, `"customer": "bob", `, `"customer": 7, `, ""}).Draw(t, "customer")
		list[i] = outbox.Delivery{
			Source: identity.Source(rapid.SampledFrom(sourceNames).Draw(t, "source")), Provider: "github", ContentType: "application/json",
			Headers: map[string][]string{"X-Kind": {"k" + strconv.Itoa(i)}, "X-Other": {"o"}},
			Body:    fmt.Appendf(nil, `{%s"amount": %d, "text": %q}`, customer, rapid.SampledFrom([]int{1, 1, 11, 100}).Draw(t, "amount"), rapid.SampledFrom([]string{"", "a longer text"}).Draw(t, "text")),
			Events: []outbox.Incoming{{
				ID: identity.EventID("evt_" + strconv.Itoa(i)), Type: rapid.SampledFrom([]string{"invoice.paid", "invoice.sent", "order.created"}).Draw(t, "type"),
			}},
		}
	}
	return list
}

// made is an effect in a form in which planned and stored effects can be compared.
type made struct {
	route, destination, policy, order, latest, parked string
	method, url, contentType, body, headers           string
	sent                                              bool // true if a claim has completed the request
}

func plannedAs(e *ledger.NewEffect) made {
	m := made{
		route: e.Route, destination: e.Destination, policy: string(e.Policy), order: e.OrderKey, latest: e.LatestKey, parked: e.Parked,
		method: e.Request.Method, url: e.Request.URL, contentType: e.Request.ContentType, body: string(e.Request.Body), headers: headersOf(e.Request.Headers), sent: true,
	}
	if m.order == "" {
		m.order = m.latest // latest_by also orders the effects
	}
	return m
}

// headersOf returns headers as text, without the receipt time, which differs between the databases.
func headersOf(h map[string][]string) string {
	h = maps.Clone(h)
	delete(h, destination.HeaderReceivedAt)
	if len(h) == 0 {
		return ""
	}
	return fmt.Sprint(h) // fmt prints a map in the order of its keys
}

// effects returns all effects of the database by key.
func (w world) effects(t *testing.T) map[string]made {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), "SELECT idempotency_key FROM hooklatch.effects")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	effects := make(map[string]made, len(found))
	for _, key := range found {
		e, err := w.box.Ledger().Effect(t.Context(), key)
		require.NoError(t, err)
		m := made{
			route: e.Route, destination: e.Destination, policy: string(e.Policy), order: e.OrderKey, latest: e.LatestKey,
			method: e.Request.Method, url: e.Request.URL, contentType: e.Request.ContentType, headers: headersOf(e.Request.Headers), sent: e.Attempt > 0,
		}
		if e.State == ledger.EffectParked && e.Attempt == 0 {
			m.parked, m.sent = e.Error, true
		} else {
			require.NoError(t, w.box.Ledger().LoadBody(t.Context(), &e))
			m.body = string(e.Request.Body)
		}
		effects[key] = m
	}
	return effects
}

// keysOf returns the keys of an event's effects.
func (w world) keysOf(t *testing.T, ref identity.EventRef) map[string]bool {
	t.Helper()
	links, err := w.box.Ledger().EffectsOfEvent(t.Context(), ref)
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, link := range links {
		keys[link.IdempotencyKey] = true
	}
	return keys
}

// without returns the number of effects whose keys are not in others.
func without(effects, others map[string]made) int {
	n := 0
	for key := range effects {
		if _, is := others[key]; !is {
			n++
		}
	}
	return n
}

func keysOf(effects map[string]made) map[string]bool {
	keys := map[string]bool{}
	for key := range effects {
		keys[key] = true
	}
	return keys
}

// planned returns the effects that the routes plan for one event, as if there were no other events.
func (w world) planned(t *testing.T, routes *route.Table, ref identity.EventRef) []ledger.NewEffect {
	t.Helper()
	effects, err := routes.Forecast(t.Context(), w.event(t, ref))
	require.NoError(t, err)
	return effects
}

func (w world) event(t *testing.T, ref identity.EventRef) *inbox.Event {
	t.Helper()
	e, err := w.box.Inbox().Event(t.Context(), ref)
	require.NoError(t, err)
	return e
}

// comparison compares the configurations of two worlds over the events of the first.
func comparison(t *testing.T, old, next world) *whatif.Comparison {
	t.Helper()
	c := &whatif.Comparison{Renamed: map[string]string{}, Finder: old.box.Finder(), Inbox: old.box.Inbox()}
	for _, change := range old.config.Changes(next.config) {
		if change.Section == config.SectionRoute && change.Kind == config.Renamed {
			c.Renamed[change.Name] = change.To
		}
	}
	var err error
	c.Old, err = app.Routes(old.config)
	require.NoError(t, err)
	c.New, err = app.Routes(next.config)
	require.NoError(t, err)
	return c
}

// A generated configuration is in use, generated events were dispatched with it, and another
// generated configuration is compared with it. The program then really dispatches the same events
// with the other configuration on another database. Its effects must be the first program's
// effects, without those reported as gone or changed. The effects reported as added or changed must
// exist as rendered.
func TestPropertyADiffIsWhatTheNewConfigurationDoes(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	mail := demo.NewMail(demo.MailOptions{Listener: listener})
	mail.Start()
	t.Cleanup(func() { _ = mail.Stop(context.Background()) })
	_, mailPort, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	kinds := map[whatif.Kind]int{}
	sharedKeys, heirs := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		before := drawSettings(rt, receiver.URL)
		after := before.changed(rt, receiver.URL)
		deliveries := drawDeliveries(rt)
		old := dispatched(t, rt, before, mailPort, deliveries)
		next := dispatched(t, rt, after, mailPort, deliveries)
		compared := comparison(t, old, next)
		was, is := old.effects(t), next.effects(t)
		expected, counts := map[string]made{}, map[whatif.Kind]int{}
		madeBefore := map[string]bool{} // keys that earlier events had in the first program
		different := 0
		for _, d := range deliveries {
			ref := identity.EventRef{Source: d.Source, EventID: d.Events[0].ID}
			found, err := whatif.Differences(compared, t.Context(), old.event(t, ref))
			require.NoError(rt, err)
			had := old.keysOf(t, ref)
			said := map[string]made{} // effects of this event, if there were no other events
			for key := range had {
				said[key] = was[key]
			}
			for _, e := range old.planned(t, compared.Old, ref) {
				if key := e.IdempotencyKey(); madeBefore[key] {
					said[key] = plannedAs(&e) // the row belongs to an earlier event
				}
			}
			for _, one := range found {
				counts[one.Kind]++
				if one.Before != nil {
					require.True(rt, had[one.Before.IdempotencyKey()], "%s: before, %+v", ref, one)
					delete(said, one.Before.IdempotencyKey())
				}
			}
			for _, one := range found {
				if one.After != nil {
					said[one.After.IdempotencyKey()] = plannedAs(one.After)
				}
			}
			require.Equal(rt, next.keysOf(t, ref), keysOf(said), "%s: keys", ref)
			for key, effect := range said {
				first, shared := expected[key]
				switch {
				case !shared:
					expected[key] = effect
				case first != effect:
					sharedKeys++ // the first event creates the effect
				}
				if !shared && madeBefore[key] {
					heirs++ // the event that created the effect in the first program no longer creates it
				}
			}
			for key := range had {
				madeBefore[key] = true
			}
			if len(found) > 0 {
				different++
			}
		}
		for key, got := range is {
			require.True(rt, isAs(got, expected[key]), "%s: made %+v, said %+v", key, got, expected[key])
		}
		require.Len(rt, is, len(expected))
		walked, err := compared.Walk(t.Context(), find.Events{}, find.Beginning, whatif.Limits{Events: 100}, nil)
		require.NoError(rt, err)
		require.Equal(rt, counts, walked.Effects)
		require.Equal(rt, &whatif.Together{Gone: without(was, is), Added: without(is, was)}, walked.Together)
		require.Equal(rt, len(deliveries), walked.Events)
		require.LessOrEqual(rt, walked.Different, different, "an error of the old configuration is not a difference")
		for kind, n := range counts {
			kinds[kind] += n
		}
	})
	t.Log(kinds, sharedKeys, heirs)
	require.NotZero(t, sharedKeys, "different effects of several events share a key")
	require.NotZero(t, heirs, "another event makes the effect of a shared key")
	for _, kind := range whatif.Kinds() {
		require.NotZero(t, kinds[kind], "the generated configurations lead to every kind")
	}
}

// isAs reports whether an effect is as expected. A request that no claim has completed has neither
// the destination's method nor its URL.
func isAs(got, want made) bool {
	if !got.sent || !want.sent {
		got.method, got.url, got.headers, got.sent = want.method, want.url, want.headers, want.sent
	}
	return got == want
}
