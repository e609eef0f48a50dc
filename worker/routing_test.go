package worker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// eventsOfADeploy is the number of events in each step of a rolling deploy.
const eventsOfADeploy = 40

// programs starts workers, each with separate routing, on one database.
type programs struct {
	*bundle

	destination DestinationOptions
}

func newPrograms(t *testing.T) *programs {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: server.URL, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	return &programs{bundle: setup(t), destination: DestinationOptions{Name: "app", Sender: sender}}
}

func (p *programs) run(t *testing.T, r Routing) *Worker {
	t.Helper()
	b := *p.bundle
	b.opts.Destinations = []DestinationOptions{p.destination}
	b.opts.Routes, b.opts.Sources, b.opts.MaxBodies, b.opts.ConfigHash = r.Routes, r.Sources, r.MaxBodies, r.ConfigHash
	w := b.worker(t)
	b.start(t, w)
	return w
}

func (p *programs) deliver(t *testing.T, source, id, eventType string) {
	t.Helper()
	_, err := p.outbox.Accept(t.Context(), outbox.Delivery{
		Source: identity.Source(source), Provider: "stripe", ContentType: "application/json", Body: []byte(`{}`),
		Events: []outbox.Incoming{{ID: identity.EventID(id), Type: eventType}},
	})
	require.NoError(t, err)
}

// settled waits until no event waits for its dispatch.
func (p *programs) settled(t *testing.T) {
	t.Helper()
	waitFor(t, p.bundle, `SELECT (count(*) FILTER (WHERE outcome = 'received') = 0)::integer FROM hooklatch.processed_events`)
}

// by returns the number of effects that the route created.
func (p *programs) by(t *testing.T, route string) int {
	t.Helper()
	return p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE route = $1`, route)
}

func named(name string, from string, types ...string) route.Route {
	return route.Route{Name: name, From: []string{from}, Types: types, To: "app"}
}

// An event is planned with the newest configuration that has its source, no matter which process
// takes the event's job. A process with the old configuration may restart in the meantime.
func TestNewestConfigurationDecides(t *testing.T) {
	t.Parallel()
	stripe, both := []string{"stripe"}, []string{"billing", "stripe"}
	paid := named("paid", "stripe", "invoice.paid")
	for name, deploy := range map[string]struct {
		old, next Routing
		source    string
		wanted    []string // routes that create an effect for each event
		unwanted  string   // route that creates no effect
	}{
		"source added": {
			old:    Routing{Sources: stripe, Routes: []route.Route{paid}},
			next:   Routing{Sources: both, Routes: []route.Route{paid, named("bill", "billing")}},
			source: "billing", wanted: []string{"bill"},
		},
		"source added below a route of every source": {
			old:    Routing{Sources: stripe, Routes: []route.Route{named("all", "*")}},
			next:   Routing{Sources: both, Routes: []route.Route{named("all", "*"), named("bill", "billing")}},
			source: "billing", wanted: []string{"all", "bill"},
		},
		"route added": {
			old:    Routing{Sources: stripe, Routes: []route.Route{paid}},
			next:   Routing{Sources: stripe, Routes: []route.Route{paid, named("book", "stripe")}},
			source: "stripe", wanted: []string{"paid", "book"},
		},
		"types widened": {
			old:    Routing{Sources: stripe, Routes: []route.Route{named("charges", "stripe", "charge.*")}},
			next:   Routing{Sources: stripe, Routes: []route.Route{named("charges", "stripe", "charge.*", "invoice.*")}},
			source: "stripe", wanted: []string{"charges"},
		},
		"route removed": {
			old:    Routing{Sources: stripe, Routes: []route.Route{paid, named("book", "stripe")}},
			next:   Routing{Sources: stripe, Routes: []route.Route{paid}},
			source: "stripe", wanted: []string{"paid"}, unwanted: "book",
		},
		"first routes": {
			old:    Routing{Sources: stripe},
			next:   Routing{Sources: stripe, Routes: []route.Route{paid}},
			source: "stripe", wanted: []string{"paid"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t)
			deploy.old.ConfigHash, deploy.next.ConfigHash = "old", "next"
			old := p.run(t, deploy.old)
			p.run(t, deploy.next)
			for i := range eventsOfADeploy {
				p.deliver(t, deploy.source, fmt.Sprint("beside_", i), "invoice.paid")
			}
			p.settled(t)
			stop(t, old)
			p.run(t, deploy.old)
			for i := range eventsOfADeploy {
				p.deliver(t, deploy.source, fmt.Sprint("restarted_", i), "invoice.paid")
			}
			p.settled(t)
			require.Equal(t, 2*eventsOfADeploy, p.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE config_hash = 'next' AND outcome = 'dispatched'`))
			for _, wanted := range deploy.wanted {
				require.Equal(t, 2*eventsOfADeploy, p.by(t, wanted), wanted)
			}
			require.Zero(t, p.by(t, deploy.unwanted))
			require.Zero(t, p.count(t, `SELECT COALESCE(sum(cardinality(errors)), 0) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
		})
	}
}

// Two programs share a schema. Each has a separate source, and a route for every source.
func TestProgramsPlanOnlyTheirSources(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	p.run(t, Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("shop", "*")}})
	p.run(t, Routing{Sources: []string{"billing"}, Routes: []route.Route{named("ledger", "*")}})
	for i := range eventsOfADeploy {
		p.deliver(t, "stripe", fmt.Sprint("evt_", i), "invoice.paid")
		p.deliver(t, "billing", fmt.Sprint("evt_", i), "invoice.paid")
	}
	p.settled(t)
	for route, source := range map[string]string{"shop": "stripe", "ledger": "billing"} {
		require.Equal(t, eventsOfADeploy, p.by(t, route))
		require.Equal(t, eventsOfADeploy, p.count(t, `SELECT count(DISTINCT event_id) FROM hooklatch.all_links WHERE source = $1 AND scope LIKE '%' || $2`, source, route))
	}
}

// A reload is announced before it takes effect: a process that was not reloaded does not take
// later events.
func TestReloadedRoutesDecide(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	first := Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("paid", "stripe", "invoice.paid")}, ConfigHash: "old"}
	reloaded := p.run(t, first)
	p.run(t, first)
	next := Routing{Sources: first.Sources, Routes: append(first.Routes, named("book", "stripe")), ConfigHash: "next"}
	require.NoError(t, reloaded.SetRouting(t.Context(), next))
	for i := range eventsOfADeploy {
		p.deliver(t, "stripe", fmt.Sprint("evt_", i), "invoice.paid")
	}
	p.settled(t)
	require.Equal(t, eventsOfADeploy, p.by(t, "book"))
}

// A process that dies without withdrawing counts as running for half a minute more, and no other
// process takes its events until then. A gateway plans no events: the workers only wait, for a
// limited time, until a worker has the gateway's routes. This limited time begins again when the
// last worker with these routes stops.
func TestEventsWaitForTheNewestProcess(t *testing.T) {
	t.Parallel()
	other := fleet.Presence{ID: "other", Hash: "newer", Routes: "newer", Sources: []string{"stripe"}}
	for name, test := range map[string]struct {
		gateway, restarts bool   // restarts: a worker with the routes of the gateway has stopped
		past              string // statement that ends the wait
	}{
		"worker":  {past: `UPDATE hooklatch.workers SET seen_at = now() - interval '31 seconds' WHERE id = 'other'`},
		"gateway": {gateway: true, past: `UPDATE hooklatch.workers SET configured_at = now() - interval '6 minutes' WHERE id = 'other'`},
		"gateway whose worker restarts": {
			gateway: true, restarts: true,
			past: `UPDATE hooklatch.configurations SET dispatched_at = now() - interval '6 minutes' WHERE hash = 'newer'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t)
			p.run(t, Routing{Sources: []string{"billing", "stripe"}, Routes: []route.Route{named("paid", "*", "invoice.paid")}})
			newest := other
			newest.GatewayOnly = test.gateway
			_, err := p.outbox.Fleet().Announce(t.Context(), newest)
			require.NoError(t, err)
			if test.restarts {
				p.restarted(t, newest)
			}
			p.deliver(t, "stripe", "evt_1", "invoice.paid")
			p.deliver(t, "stripe", "evt_2", "charge.failed")
			p.deliver(t, "billing", "evt_3", "invoice.paid")
			waitFor(t, p.bundle, `SELECT (count(*) = 2)::integer FROM hooklatch.river_job
				WHERE kind = 'dispatch' AND args ->> 'source' = 'stripe' AND (metadata ->> 'snoozes')::integer >= 2`)
			require.Equal(t, 2, p.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'stripe' AND outcome = 'received'`))
			waitFor(t, p.bundle, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'billing' AND outcome = 'dispatched'`)
			lines := p.lines(t, "event left to another process")
			require.Len(t, lines, 1)
			require.Contains(t, lines[0]["reason"], "newer configuration")

			_, err = p.pool.Exec(t.Context(), test.past)
			require.NoError(t, err)
			p.settled(t)
			require.Equal(t, 2, p.by(t, "paid"))
			require.Equal(t, 1, p.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'skipped'`))
		})
	}
	t.Run("gateway with the same routes", func(t *testing.T) {
		t.Parallel()
		p := newPrograms(t)
		w := p.run(t, Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("paid", "stripe")}})
		gateway := other
		gateway.GatewayOnly, gateway.Routes = true, w.routing.Load().routes
		_, err := p.outbox.Fleet().Announce(t.Context(), gateway)
		require.NoError(t, err)
		p.deliver(t, "stripe", "evt_1", "invoice.paid")
		p.settled(t)
		require.Zero(t, p.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND metadata ? 'snoozes'`))
	})
}

// restarted makes a gateway's configuration 6 minutes old, and stops a worker that had it.
func (p *programs) restarted(t *testing.T, gateway fleet.Presence) {
	t.Helper()
	_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.configurations SET began_at = now() - interval '6 minutes' WHERE hash = $1`, gateway.Hash)
	require.NoError(t, err)
	worker := gateway
	worker.ID, worker.GatewayOnly = "restarted", false
	announced, err := p.outbox.Fleet().Announce(t.Context(), worker)
	require.NoError(t, err)
	worker.Last = announced // only a worker that outlives its start counts
	for _, one := range []fleet.Presence{worker, gateway} {
		_, err := p.outbox.Fleet().Announce(t.Context(), one)
		require.NoError(t, err)
	}
	require.NoError(t, p.outbox.Fleet().Withdraw(t.Context(), worker.ID))
}

// An outage of the database makes the announcements of all processes old. Meanwhile, and until all
// processes have had the time to announce themselves again, events still wait for the newest
// configuration. No configuration gets a new number.
func TestNewestConfigurationDecidesAfterAnOutage(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	w := p.run(t, Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("paid", "stripe", "invoice.paid")}})
	other := fleet.Presence{ID: "other", Hash: "newer", Routes: "newer", Sources: []string{"stripe"}}
	newest, err := p.outbox.Fleet().Announce(t.Context(), other)
	require.NoError(t, err)
	other.Last = newest
	w.presence.cancel() // only the test announces from here on
	w.presence.done.Wait()
	for _, table := range []string{"workers", "configurations"} {
		_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.`+table+` SET seen_at = seen_at - interval '3 hours'`)
		require.NoError(t, err)
	}
	number := w.routing.Load().announced.Number
	silence := func() {
		w.announcing.Lock()
		defer w.announcing.Unlock()
		silent := *w.routing.Load()
		silent.announced.AnnouncedAt = time.Now().Add(-3 * time.Hour)
		w.routing.Store(&silent)
	}
	// Announcements from before the outage count for half a minute more. A loaded machine may miss
	// this time.
	require.Eventually(t, func() bool {
		silence()
		w.announceAgain(t.Context())
		return w.routing.Load().announced.CountsFor() > 3*time.Hour
	}, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, number, w.routing.Load().announced.Number)

	silence()
	_, err = p.outbox.Fleet().SyncQueues(t.Context())
	require.NoError(t, err)
	p.deliver(t, "stripe", "evt_1", "charge.failed")
	waits := func(snoozes int) {
		t.Helper()
		waitFor(t, p.bundle, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND (metadata ->> 'snoozes')::integer >= $1`, snoozes)
		require.Equal(t, 1, p.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`))
	}
	waits(1)
	again, err := p.outbox.Fleet().Announce(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, newest.Number, again.Number)
	waits(2)
	require.NoError(t, p.outbox.Fleet().Withdraw(t.Context(), "other"))
	p.settled(t)
}

// A configuration keeps its number after an outage, even if its process has restarted, and no
// matter which process announces itself first.
func TestConfigurationKeepsItsNumberAfterAnOutage(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"restarted first": "", "newest first": "newest", "older first": "older"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t)
			announce := func(id, configuration string, last fleet.Configuration) fleet.Configuration {
				t.Helper()
				announced, err := p.outbox.Fleet().Announce(t.Context(), fleet.Presence{
					ID: id, Hash: configuration, Routes: configuration, Sources: []string{"stripe"}, Last: last,
				})
				require.NoError(t, err)
				return announced
			}
			last := map[string]fleet.Configuration{}
			for _, configuration := range []string{"older", "newest"} {
				last[configuration] = announce(configuration, configuration, fleet.Configuration{})
			}
			for _, table := range []string{"workers", "configurations"} {
				_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.`+table+` SET seen_at = seen_at - interval '3 minutes'`)
				require.NoError(t, err)
			}
			if first != "" {
				require.Equal(t, last[first].Number, announce(first, first, last[first]).Number)
			}
			for configuration, before := range last {
				require.Equal(t, before.Number, announce("restarted_"+configuration, configuration, fleet.Configuration{}).Number, configuration)
			}
			// The database was unavailable only to the processes of one configuration.
			for configuration, before := range last {
				_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.configurations SET seen_at = seen_at - interval '3 minutes' WHERE hash = $1`, configuration)
				require.NoError(t, err)
				require.Equal(t, before.Number, announce(configuration, configuration, before).Number, configuration)
			}
		})
	}
}

// If no process has run a configuration for some time, the configuration counts as new when a
// deployment rolls back to it.
func TestConfigurationRolledBackToBeginsAnew(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	with := Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("paid", "stripe")}, ConfigHash: "with"}
	without := Routing{Sources: []string{"stripe"}, Routes: []route.Route{named("other", "stripe", "charge.*")}, ConfigHash: "without"}
	stop(t, p.run(t, with))
	p.run(t, without)
	_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.configurations SET seen_at = now() - interval '3 minutes' WHERE number = 1`)
	require.NoError(t, err)
	p.run(t, with)
	for i := range eventsOfADeploy {
		p.deliver(t, "stripe", fmt.Sprint("evt_", i), "invoice.paid")
	}
	p.settled(t)
	require.Equal(t, eventsOfADeploy, p.by(t, "paid"))
}

// A program that does not set sources has the sources of its routes.
func TestSourcesDefaultToThoseOfRoutes(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	w := p.run(t, Routing{Routes: []route.Route{named("paid", "stripe")}})
	p.deliver(t, "billing", "evt_1", "invoice.paid")
	waitFor(t, p.bundle, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND metadata ? 'snoozes'`)
	require.NoError(t, w.SetRoutes([]route.Route{named("bill", "billing")}, "next"))
	p.settled(t)
	p.deliver(t, "stripe", "evt_2", "invoice.paid")
	p.settled(t)
	require.Equal(t, 1, p.by(t, "bill"))
	require.Equal(t, 1, p.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'skipped'`), "a source that no longer has a route is still known")
	require.NotContains(t, w.routing.Load().sources, "*")
}
