package outbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// routesOfTest are the routes of an event in this file.
var routesOfTest = []string{"mail", "erp", "crm"}

// byRoute plans an event as a process with routesOfTest does. If before is true, the process runs a
// version without the replay of a single route, and plans all routes.
func byRoute(e *inbox.Event, before bool) (effects []ledger.NewEffect) {
	for _, route := range routesOfTest {
		if !before && e.OnlyRoute != "" && e.OnlyRoute != route {
			continue
		}
		effect := planned(e, string(e.EventID))
		effect.Route, effect.Scope = route, identity.ScopeOfRoute(e.Source, route)
		effects = append(effects, effect)
	}
	return effects
}

// effectsOf describes the state of an event's effects by route.
func (b *bundle) effectsOf(t *testing.T, ref identity.EventRef) map[string][]string {
	t.Helper()
	links, err := b.Ledger().EffectsOfEvent(t.Context(), ref)
	require.NoError(t, err)
	states := map[string][]string{}
	for _, link := range links {
		for _, route := range routesOfTest {
			if link.Scope == identity.ScopeOfRoute(ref.Source, route) {
				states[route] = append(states[route], fmt.Sprintf("generation %d is %s after %d attempts", link.Generation, link.State, link.Attempt))
			}
		}
	}
	for _, list := range states {
		slices.Sort(list)
	}
	return states
}

// A replay of one route leaves the effects of the other routes unchanged, whatever their state.
// This also holds after earlier replays, and if an older process dispatches the event.
func TestReplayOfOneRouteLeavesTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		ref := identity.EventRef{Source: "stripe", EventID: identity.EventID(fmt.Sprintf("evt_%d", seed))}
		b.accepted(t, "stripe", string(ref.EventID))
		said := fmt.Sprintf("seed %d", seed)
		dispatch := func(before bool) {
			e, err := b.Event(t.Context(), ref)
			require.NoError(t, err)
			if before { // an older process reads neither the route nor its keys
				e.OnlyRoute = ""
				e.EffectGeneration = b.count(t, `SELECT effect_generation FROM hooklatch.processed_events WHERE event_id = $1`, ref.EventID)
			}
			_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: byRoute(e, before)})
			require.NoError(t, err)
		}
		attempt := func() {
			links, err := b.Ledger().EffectsOfEvent(t.Context(), ref)
			require.NoError(t, err)
			for _, link := range links {
				if link.State != ledger.EffectPending || random.IntN(4) == 0 {
					continue
				}
				verdict := []ledger.Verdict{ledger.VerdictDone, ledger.VerdictRefused, ledger.VerdictRefused}[random.IntN(3)]
				b.settle(t, b.granted(t, link.EffectID, lease), ledger.Settlement{Verdict: verdict, ResponseStatus: 400})
			}
		}
		dispatch(false)
		attempt()
		for range 1 + random.IntN(4) {
			route, newKeys, before := "", random.IntN(2) == 0, random.IntN(3) == 0
			if random.IntN(4) > 0 {
				route = routesOfTest[random.IntN(len(routesOfTest))]
			}
			said += fmt.Sprintf(", replay of %q, new keys %t, by an older process %t", route, newKeys, before)
			was := b.effectsOf(t, ref)
			_, err := b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{Route: route, NewKeys: newKeys})
			require.NoError(t, err, said)
			dispatch(before)
			is := b.effectsOf(t, ref)
			for _, other := range routesOfTest {
				if route != "" && other != route {
					require.Equal(t, was[other], is[other], "%s: %s", said, other)
				}
			}
			if newKeys && !before {
				for _, of := range routesOfTest {
					if route == "" || of == route {
						require.Len(t, is[of], len(was[of])+1, "%s: %s", said, of)
					}
				}
			}
			attempt()
		}
	}
}
