package worker

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker/route"
)

// An expression that would do too much work parks only its own effect.
func TestTooMuchWorkParksItsEffectOnly(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{
		"distinct":         `body.list.distinct().size() > 0`,
		"contains":         `sets.contains(body.list, body.list)`,
		"split and join":   `body.text.split("").join(body.text).size() > 0`,
		"hidden by an or":  `body.list.distinct().size() > 0 || true`,
		"too much at once": `body.text.matches(body.text)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.to(t, func(http.ResponseWriter, *http.Request) {})
			b.opts.Routes = append(b.opts.Routes, route.Route{Name: "greedy", From: []string{"*"}, To: "app", When: when})
			b.start(t, b.worker(t))
			b.take(t, incoming{id: "evt_1", body: `{"list":[` + strings.Repeat(`"x",`, 8_000) + `"y"],"text":"` + strings.Repeat("a", 6_000) + `"}`})
			waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE route = 'everything' AND state = 'done'`)
			waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE route = 'greedy' AND state = 'parked'
				AND error LIKE 'route "greedy": when: %has too much to do: an expression may work through 16 MiB'`)
			require.Equal(t, inbox.Dispatched, b.event(t, "evt_1").Outcome)
		})
	}
}
