package worker

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/worker/route"
)

// A source's max_body is raised in a rolling deploy. A process with the former limit parks no
// effect that only the new limit allows, no matter which process takes the event's job.
func TestRaisedLimitOfASourceDecides(t *testing.T) {
	t.Parallel()
	p := newPrograms(t)
	paid := named("paid", "stripe")
	paid.Key = "body.id"
	with := func(limit int64) Routing {
		return Routing{Sources: []string{"stripe"}, Routes: []route.Route{paid}, MaxBodies: map[string]int64{"stripe": limit}}
	}
	old := p.run(t, with(1<<20))
	p.run(t, with(2<<20))
	body := append(append([]byte(`{"id": "a", "text": "`), bytes.Repeat([]byte("x"), 1<<20)...), `"}`...)
	for _, id := range []identity.EventID{"evt_1", "evt_2", "evt_3", "evt_4", "evt_5", "evt_6", "evt_7", "evt_8"} {
		_, err := p.outbox.Accept(t.Context(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", ContentType: "application/json", Body: bytes.Replace(body, []byte(`"a"`), []byte(`"`+id+`"`), 1),
			Events: []outbox.Incoming{{ID: id, Type: "invoice.paid"}},
		})
		require.NoError(t, err)
	}
	p.settled(t)
	require.Equal(t, 8, p.by(t, "paid"))
	require.Zero(t, p.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked'`))

	former := old.routing.Load().announced.Number
	require.NoError(t, old.SetRouting(t.Context(), with(3<<20)))
	require.Greater(t, old.routing.Load().announced.Number, former+1, "the reloaded limit makes the newest configuration")
}
