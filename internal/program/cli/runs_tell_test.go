package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func TestWhatBecameOfARunIsToldWhole(t *testing.T) {
	t.Parallel()
	retry := runs.Order{Action: ledger.ActionRetryEffect}
	replay := runs.Order{Action: ledger.ActionReplayEvent}
	all := runs.Counts{Selected: 453, Changed: 450, InDoubt: 2, Unrendered: 4, Unclear: 1}
	for want, run := range map[string]runs.Run{
		"450 effects tried again\n3 left out: they changed before the run reached them\n" +
			"2 more left out: possibly applied already; to include, add --in-doubt and --reason\n" +
			"4 more left out: request could not be rendered; replay the event instead\n" +
			"1 more left out: --when failed for the event; first error: no such key\n": {Order: retry, State: runs.Done, Counts: all},
		"450 of 500 effects tried again\n":          {Order: retry, State: runs.Stopped, Counts: all, Total: 500},
		"450 effects tried again\n":                 {Order: retry, State: runs.Paused, Counts: all},
		"1 event replayed, 2 effects tried again\n": {Order: replay, State: runs.Done, Counts: runs.Counts{Selected: 1, Changed: 1, Reopened: 2}},
		"1 effect cancelled\n":                      {Order: runs.Order{Action: ledger.ActionCancelEffect}, State: runs.Done, Counts: runs.Counts{Selected: 1, Changed: 1}},
		"0 of 1 effect parked\n":                    {Order: runs.Order{Action: ledger.ActionParkEffect}, State: runs.Running, Total: 1},
		"0 events replayed, 0 effects tried again\n" +
			"2 more left out: --when failed; first error: no such key\n": {Order: replay, State: runs.Done, Counts: runs.Counts{Unclear: 2}},
	} {
		var out bytes.Buffer
		s := shift{cli: &cli{Process: &Process{Stdout: &out}}, whyUnclear: "no such key"}
		require.NoError(t, s.tell(run))
		require.Equal(t, want, out.String())
	}
}

func TestOneOfAThingIsInTheSingular(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cli{Process: &Process{Stdout: &out, Name: ProgramName}}
	c.printRetried(1, 1, nil)
	require.Equal(t, "1 refused delivery accepted, including 1 duplicate\n", out.String())
	out.Reset()
	c.printEffect(life.Effect{Effect: ledger.Effect{State: ledger.EffectPending, Attempt: 3, UncountedAttempts: 1}})
	require.Contains(t, out.String(), "3, including 1 probe that does not count\n")
}
