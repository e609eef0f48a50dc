package desk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Every verb has all texts that commands, pages and the API need.
func TestEveryVerbIsWhole(t *testing.T) {
	t.Parallel()
	type name struct {
		on   desk.Thing
		verb string
	}
	named, acts, said := map[name]bool{}, map[ledger.Action]bool{}, map[string]string{}
	for _, v := range desk.Verbs() {
		of := name{v.On, v.Name}
		require.False(t, named[of], "%s is listed twice", of)
		require.False(t, acts[v.Action], "%s is listed twice", v.Action)
		named[of], acts[v.Action] = true, true
		for what, text := range map[string]string{
			"Name": v.Name, "Action": string(v.Action), "Role": string(v.Role), "Button": v.Button, "Short": v.Short, "Past": v.Past,
		} {
			require.NotEmpty(t, text, "%s of %s", what, of)
		}
		require.True(t, strings.HasPrefix(v.Means, "The ") && strings.HasSuffix(v.Means, "."), "%s means %q", of, v.Means)
		require.True(t, strings.HasPrefix(v.MeansFor("Each"), "Each "), "%s", of)
		require.Equal(t, v.Own, v.Do == nil, "%s", of)
		if v.Own {
			continue
		}
		if before, is := said[v.Name]; is { // a page identifies the verb only by its name
			require.Equal(t, before, v.Said(), "%s", of)
		}
		said[v.Name] = v.Said()
		require.Equal(t, v.Said(), desk.SaidOf(v.Name))
		require.Equal(t, v.Action, desk.Named(v.On, v.Name).Action)
		require.Equal(t, v.Name, desk.By(v.Action).Name)
	}
	require.False(t, desk.Named(desk.Effects, "explode").Known())
	require.Empty(t, desk.SaidOf("explode"))
}

// Every action of a bulk run has a verb. The verb applies to the kind of object that the run selects,
// and its name is the one in the run's description.
func TestEveryActionOfARunIsAVerb(t *testing.T) {
	t.Parallel()
	for _, action := range runs.Actions() {
		v, order := desk.By(action), runs.Order{Action: action}
		require.True(t, v.Known(), "%s", action)
		require.True(t, v.Many(), "%s", action)
		require.Equal(t, order.OfEvents(), v.On == desk.Events, "%s", action)
		require.Equal(t, order.OfRefused(), v.On == desk.Refused, "%s", action)
		if v.On == desk.Refused {
			require.Equal(t, v.Name+" refused deliveries", order.Words())
		} else {
			require.Equal(t, v.Name+" "+string(v.On), order.Words())
		}
		for _, state := range runs.StatesOfEvents(action) {
			require.True(t, v.PossibleIn(string(state)), "%s of an event that is %s", action, state)
		}
	}
}

// An operator is warned before a retry that may apply an effect twice, whatever the policy of the
// effect is.
func TestARetryAsksIfItMayApplyTwice(t *testing.T) {
	t.Parallel()
	doubt := desk.By(ledger.ActionRetryEffect).Doubt
	for _, c := range []struct {
		policy   ledger.Policy
		state    ledger.EffectState
		doubtful bool
		want     string
	}{
		{ledger.AtMostOnce, ledger.EffectParked, true, "its outcome is unknown"},
		{ledger.AtMostOnce, ledger.EffectParked, false, ""},
		{ledger.AtLeastOnce, ledger.EffectParked, true, "may have forgotten its key"},
		{ledger.AtLeastOnce, ledger.EffectParked, false, ""},
		{ledger.AtLeastOnce, ledger.EffectInDoubt, true, ""},
	} {
		e := ledger.Effect{Policy: c.policy, State: c.state}
		if c.doubtful {
			e.MaybeAppliedSince = time.Now()
		}
		got := doubt(e)
		require.Equal(t, c.want == "", got == "", c)
		require.Contains(t, got, c.want)
	}
}
