package desk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// An effect under a key of two sources belongs to the event that created it. The mask of that event's
// source decides, whichever of the two events is shown.
func TestEffectsAreConcealedByTheirOwnSource(t *testing.T) {
	t.Parallel()
	sight := desk.Sight{Mask: map[string][]string{"stripe": {"/email"}}}
	for source, want := range map[identity.Source]string{"stripe": "", "shop": "ada@example.com"} {
		l := &life.Event{Event: &inbox.Event{EventRef: identity.EventRef{Source: "shop", EventID: "evt_1"}}, Effects: []life.Effect{{
			Effect:   ledger.Effect{Event: identity.EventRef{Source: source, EventID: "evt_2"}},
			Attempts: []ledger.Attempt{{ResponseExcerpt: "ada@example.com"}},
		}}}
		desk.ConcealEvent(l, func(of identity.Source) desk.View { return sight.Of(signin.Person{Role: signin.Viewer}, of) })
		require.Equal(t, want, l.Effects[0].Attempts[0].ResponseExcerpt, source)
	}
}
