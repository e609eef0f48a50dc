package bench_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// root is the path from this package to the root of the module.
const root = "../../.."

// All sizes are small. The test checks that each scenario does its work and appears in the report.
// The figures are meaningless.
func TestEveryTurnIsMeasured(t *testing.T) {
	t.Parallel()
	small, wanted := []string{"limit", "naive", "accept", "life", "backlog", "idle", "connections", "bodies", "backfill", "diff", "peers"}, 30
	if testing.Short() {
		small, wanted = []string{"limit", "naive", "accept", "life"}, 9
	}
	var log bytes.Buffer
	r, err := bench.Run(t.Context(), bench.Options{Module: root, Quick: true, Rounds: 1, Events: 200, Backlog: 500, Rate: 100, Only: small, Out: &log, Command: "hookstorm bench"})
	require.NoError(t, err, log.String())

	var goals []string
	for _, goal := range r.Goals {
		if goal.Measured {
			goals = append(goals, goal.Name)
			require.Positive(t, goal.High, goal.Name)
		}
	}
	require.Len(t, goals, wanted, "every goal of these scenarios is measured")
	var page strings.Builder
	require.NoError(t, r.Print(&page))
	for _, want := range []string{
		"fsync on", "shared_buffers 1GB", "max_wal_size 4GB", "checkpoint_timeout 15min",
		"| limit ", "| naive ", "| naive, without GIN indexes ", "| Hooklatch ", "| Hooklatch, gateway and worker ",
		"CPU of Postgres us", "WAL without page images B", "| goal ",
	} {
		require.Contains(t, page.String(), want)
	}

	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, r.WriteJSON(file))
	read, err := report.Read(file)
	require.NoError(t, err)
	for i, series := range r.Series {
		require.Equal(t, series.Values, read.Series[i].Values, series.Quantity)
	}
	require.Equal(t, r.Stolen, read.Stolen)
}

// Rows that SQL inserts are processed like ordinary rows. No work is left, and each waiting
// effect is delivered once with its own body.
func TestRowsOfYearsAreWorkedOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills databases")
	}
	var log bytes.Buffer
	r, err := bench.Run(t.Context(), bench.Options{
		Module: root, Quick: true, Rounds: 1, Rows: 2000, Only: []string{"waiting", "growth", "years", "standby"}, Out: &log, Command: "hookstorm bench",
	})
	require.NoError(t, err, log.String())
	require.Len(t, r.Stolen, 4, "one for each round of the selected scenarios only")
	measured := map[string]report.Outcome{}
	for _, goal := range r.Goals {
		if goal.Measured {
			measured[goal.Name] = goal
		}
	}
	require.Len(t, measured, 9)
	require.Zero(t, measured["1,000,000 effects waiting: temporary files"].High)
	require.Less(t, measured["1,000,000 effects waiting: reconcile"].High, 60.0)
}

func TestAnUnknownScenarioIsRefused(t *testing.T) {
	t.Parallel()
	_, err := bench.Run(t.Context(), bench.Options{Module: root, Only: []string{"limit", "speed"}})
	require.EqualError(t, err, `there is no scenario "speed"; there are `+strings.Join(bench.ScenarioNames(), ", "))
}
