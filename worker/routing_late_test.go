package worker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// A request that is rendered at the first attempt is rendered with the newest configuration, no matter
// which process takes the job. An older process neither parks the effect because it lacks the route,
// nor sends a request of its own route. A process without the source does neither, even if it is newer.
func TestNewestConfigurationRenders(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	t.Cleanup(api.Close)
	late := func(body string) route.Route {
		return route.Route{
			Name: "late", From: []string{"stripe"}, To: "app",
			Refetch: &route.Refetch{URL: `"` + api.URL + `/object"`, Bearer: secret.New("t0ken")},
			HTTP:    &route.HTTPRequest{Body: `"` + body + `"`},
		}
	}
	next := Routing{Sources: []string{"stripe"}, Routes: []route.Route{late("new")}, ConfigHash: "next"}
	for name, started := range map[string][]Routing{ // by process, in the order in which the processes start
		"route added":    {{Sources: []string{"stripe"}, Routes: []route.Route{named("other", "stripe", "charge.*")}, ConfigHash: "other"}, next},
		"route changed":  {{Sources: []string{"stripe"}, Routes: []route.Route{late("old")}, ConfigHash: "other"}, next},
		"another source": {next, {Sources: []string{"billing"}, Routes: []route.Route{named("bill", "billing")}, ConfigHash: "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			bodies := make(map[string]int)
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				bodies[got(t, r).body]++
			}))
			t.Cleanup(receiver.Close)
			sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: receiver.URL})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, sender.Close()) })
			p := &programs{bundle: setup(t), destination: DestinationOptions{Name: "app", Sender: sender}}
			var other *Worker
			for _, program := range started {
				if w := p.run(t, program); program.ConfigHash == "other" {
					other = w
				}
			}
			delivered := 0
			const left = `SELECT count(*) FROM hooklatch.all_attempts WHERE error = $1`
			// On a busy machine, the newest process may take all effects of a step.
			for until := time.Now().Add(2 * time.Minute); p.count(t, left, errLeft.Error()) == 0; {
				require.True(t, time.Now().Before(until), "the other process takes no effects")
				for range eventsOfADeploy {
					p.deliver(t, "stripe", fmt.Sprint("evt_", delivered), "invoice.paid")
					delivered++
				}
				p.settled(t)
			}
			stop(t, other)
			waitFor(t, p.bundle, `SELECT (count(*) FILTER (WHERE state NOT IN ('done', 'failed', 'parked')) = 0)::integer FROM hooklatch.effects`)
			require.Equal(t, delivered, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`))
			// Other attempts may also fail: on a busy machine, a refetch may take too long.
			require.Equal(t, p.count(t, left, errLeft.Error()), p.count(t, `SELECT sum(uncounted_attempts) FROM hooklatch.effects`), "an attempt that was left counted")
			require.Equal(t, map[string]int{`"new"`: delivered}, bodies)
		})
	}
}

// A process without an effect's source does not render the effect's request, even while no other
// process runs: a process with the source may only be restarting. After ten minutes the effect is
// parked, with the reason.
func TestAnEffectWaitsForAProcessWithItsSource(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	t.Cleanup(api.Close)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: receiver.URL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	p := &programs{bundle: setup(t), destination: DestinationOptions{Name: "app", Sender: sender}}
	has := Routing{Sources: []string{"stripe"}, ConfigHash: "has", Routes: []route.Route{{
		Name: "late", From: []string{"stripe"}, To: "app",
		Refetch: &route.Refetch{URL: `"` + api.URL + `/object"`, Bearer: secret.New("t0ken")}, HTTP: &route.HTTPRequest{Body: `"new"`},
	}}}
	lacks := Routing{Sources: []string{"billing"}, Routes: []route.Route{named("bill", "billing")}, ConfigHash: "lacks"}

	ann := ledger.Operator{Who: "ann", Via: "test"}
	// waiting creates an effect that was left to other processes the given number of times, and stops
	// the process with its source. It returns the process without the source.
	waiting := func(id string, left int) *Worker {
		first := p.run(t, has)
		require.NoError(t, p.outbox.Fleet().SetPaused(t.Context(), "app", true, ann))
		p.deliver(t, "stripe", id, "invoice.paid")
		p.settled(t)
		stop(t, first)
		_, err := p.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET uncounted_attempts = $1 WHERE state = 'pending'`, left)
		require.NoError(t, err)
		alone := p.run(t, lacks)
		require.NoError(t, p.outbox.Fleet().SetPaused(t.Context(), "app", false, ann))
		return alone
	}

	alone := waiting("evt_1", 0)
	waitFor(t, p.bundle, `SELECT (count(*) > 0)::integer FROM hooklatch.all_attempts WHERE error <> ''`)
	stop(t, alone)
	require.Zero(t, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state <> 'pending' OR uncounted_attempts <> attempt`))
	again := p.run(t, has)
	waitFor(t, p.bundle, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	stop(t, again)
	waiting("evt_2", leftAlone)
	waitFor(t, p.bundle, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND error LIKE 'route "late"%'`)

	// While a process with the source runs, the process without the source parks nothing.
	p.run(t, has)
	require.NoError(t, p.outbox.Fleet().SetPaused(t.Context(), "app", true, ann))
	for i := range eventsOfADeploy {
		p.deliver(t, "stripe", fmt.Sprint("evt_3_", i), "invoice.paid")
	}
	p.settled(t)
	_, err = p.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET uncounted_attempts = $1 WHERE state = 'pending'`, leftAlone)
	require.NoError(t, err)
	require.NoError(t, p.outbox.Fleet().SetPaused(t.Context(), "app", false, ann))
	waitFor(t, p.bundle, `SELECT (count(*) FILTER (WHERE state NOT IN ('done', 'failed', 'parked')) = 0)::integer FROM hooklatch.effects`)
	require.Equal(t, 1+eventsOfADeploy, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`))
}
