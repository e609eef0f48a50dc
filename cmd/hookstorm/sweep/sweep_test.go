package sweep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/places"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep"
)

// I1 to I11 hold wherever a process fails. The command hookstorm sweep has the same plan: nine
// visits to almost every failpoint.
func TestEveryPlaceIsSurvived(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKLATCH_LONG") == "" {
		t.Skip("real processes for minutes; HOOKLATCH_LONG=1 runs it")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	report, err := sweep.Run(t.Context(), sweep.Options{Root: root, Dir: t.TempDir(), Seed: 1, Out: t.Output()})
	require.NoError(t, err)
	t.Log(report.Text())
	require.True(t, report.Sound())
}

func TestPlanHasEveryPlaceAndAction(t *testing.T) {
	t.Parallel()
	planned := make(map[string]bool)
	for _, v := range sweep.Plan(7, false) {
		planned[v.Place+" "+v.Action] = true
		planned[fmt.Sprint(v.Place, " ", v.Action, " ", min(v.Passage, 3))] = true
	}
	short := make(map[string]int)
	for _, v := range sweep.Plan(7, true) {
		short[v.Place]++
	}
	for _, place := range places.All() {
		require.Equal(t, 1, short[place], place)
		for _, action := range []string{sweep.Kill, sweep.Error, sweep.Delay} {
			require.True(t, planned[place+" "+action], "%s %s", place, action)
			if place == "gateway.draining" || place == "worker.draining" {
				continue // a process drains once
			}
			for passage := 1; passage <= 3; passage++ {
				require.True(t, planned[fmt.Sprint(place, " ", action, " ", passage)], "%s %s at %d", place, action, passage)
			}
		}
	}
	require.Equal(t, sweep.Plan(7, false), sweep.Plan(7, false), "the seed decides")
	require.NotEqual(t, sweep.Plan(7, false), sweep.Plan(8, false))
}
