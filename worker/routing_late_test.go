package worker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// A request that is rendered at the first attempt is rendered by the newest configuration, whichever
// process takes the job. An older process neither parks the effect because it lacks the route, nor
// sends what its own route would send.
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
	for name, before := range map[string][]route.Route{
		"route added":   {named("other", "stripe", "charge.*")},
		"route changed": {late("old")},
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
			old := p.run(t, Routing{Sources: []string{"stripe"}, Routes: before, ConfigHash: "old"})
			p.run(t, Routing{Sources: []string{"stripe"}, Routes: []route.Route{late("new")}, ConfigHash: "next"})
			for i := range eventsOfADeploy {
				p.deliver(t, "stripe", fmt.Sprint("evt_", i), "invoice.paid")
			}
			p.settled(t)
			waitFor(t, p.bundle, `SELECT (count(*) > 0)::integer FROM hooklatch.all_attempts WHERE attempt = 1 AND error <> ''`)
			stop(t, old) // the deploy goes on
			waitFor(t, p.bundle, `SELECT (count(*) FILTER (WHERE state NOT IN ('done', 'failed', 'parked')) = 0)::integer FROM hooklatch.effects`)
			require.Equal(t, eventsOfADeploy, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`))
			require.Zero(t, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE uncounted_attempts <> attempt - 1`), "an attempt that was left counted")
			require.Equal(t, map[string]int{`"new"`: eventsOfADeploy}, bodies)
		})
	}
}
