package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// I1 to I11 hold in every state of every world, and every path without further faults ends.
func TestNothingBreaksAPromise(t *testing.T) {
	t.Parallel()
	result := explored(t)
	require.Len(t, result.Worlds, len(Worlds()))
	for _, e := range result.Worlds {
		t.Logf("%-32s %8d states, %8d steps, at most %d in a row, %s", e.World.Name, e.States, e.Steps, e.Depth, e.Took)
		require.NotZero(t, e.Ends, "%s: no path ends in this world, so the search for endless paths proves nothing", e.World.Name)
		require.Greater(t, e.States, 1000, e.World.Name)
	}
	t.Logf("%d states in all", result.States)
}

func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	covered := 0
	for _, p := range PlantedBugs() {
		if p.Breaks == Intact {
			require.NotEmpty(t, p.WhyNot, "%s", p.Bug)
			continue
		}
		covered++
		t.Run(string(p.Bug), func(t *testing.T) {
			t.Parallel()
			opts := Options{Bug: p.Bug}
			switch p.Bug {
			case bugs.SettleWithoutFence, bugs.OrderLockDropped, bugs.ProbePassesPause:
				opts.Worlds = worldOf(p.Bug, bound()) // in the larger worlds, the violation takes longer to find
			default:
			}
			result, err := Explore(t.Context(), opts)
			require.NoError(t, err)
			require.NotNil(t, result.Violation, "%s: not found", p.Bug)
			t.Logf("%s, found after %d states\n%s", p.Bug, result.States, result.Violation)
			require.Equal(t, p.Breaks, result.Violation.Invariant)
			require.Equal(t, p.In, result.Violation.World.Name)
			require.NotContains(t, result.Violation.String(), "%!")
		})
	}
	require.Equal(t, 20, covered)
}

// The model describes every bug of bugs.All, and, except for NothingReconciled, no other.
func TestTheModelKnowsEveryBug(t *testing.T) {
	t.Parallel()
	var names, planted []string
	for _, p := range PlantedBugs() {
		if p.Bug != NothingReconciled {
			names = append(names, string(p.Bug))
		}
	}
	for _, b := range bugs.All() {
		planted = append(planted, string(b))
	}
	require.ElementsMatch(t, planted, names)
	_, err := Explore(t.Context(), Options{Bug: "typo"})
	require.EqualError(t, err, `no planted bug "typo" exists`)
	_, err = Explore(t.Context(), Options{Bug: bugs.CommitOnRequestContext})
	require.ErrorContains(t, err, "the model does not cover commit_on_request_context: an abandoned COMMIT")
}

// The trace to a violation is the shortest possible, and names the actor and the action of each
// step.
func TestTraceTellsAStory(t *testing.T) {
	t.Parallel()
	result, err := Explore(t.Context(), Options{Bug: bugs.SynchronousCommitOff})
	require.NoError(t, err)
	require.Equal(t, strings.TrimLeft(`
I1: every delivery answered 2xx has its event stored, together with the job that will process it
In the world "calls, at_least_once" it is broken by 4 steps:
   1  gateway 1  reads the delivery and finds its signature valid   [gateway.body_read, gateway.verified]
   2  gateway 1  commits the event with its job   [accept.begin, accept.before_commit, accept.after_commit]
   3  gateway 1  answers 2xx   [gateway.half_answer]
   4  Postgres   CRASH: is killed: the WAL that was not on disk is lost
`, "\n"), result.Violation.String())
}

func TestCircleIsFound(t *testing.T) {
	t.Parallel()
	graph := func(from ...[]uint32) *edges {
		var e edges
		for _, to := range from {
			for _, id := range to {
				e.add(id)
			}
			e.close()
		}
		return &e
	}
	require.Nil(t, graph([]uint32{1, 2}, []uint32{2, 3}, []uint32{3}, nil).circle(), "two ways to one end are not a circle")
	require.Equal(t, []uint32{1, 3, 2, 1}, graph([]uint32{1}, []uint32{3}, []uint32{1}, []uint32{4, 2}, nil).circle())
	require.Equal(t, []uint32{2, 2}, graph(nil, nil, []uint32{2}).circle(), "also among states that the first state does not lead to")
}
