package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// root is that of the module.
const root = "../../.."

// Everything is small: what is looked at is that each scenario does its work and that
// the report has it. The figures are worth nothing.
func TestEveryTurnIsMeasured(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// The others take longer, and are variants of these.
	small := []string{"limit", "naive", "accept", "life", "backlog", "idle", "connections", "bodies"}
	var log bytes.Buffer
	r, err := bench.Run(ctx, bench.Options{Module: root, Quick: true, Rounds: 1, Events: 200, Backlog: 100, Rate: 100, Only: small, Out: &log, Command: "hookstorm bench"})
	require.NoError(t, err, log.String())

	goals := 0
	for _, goal := range r.Goals {
		if goal.Measured {
			goals++
			require.Positive(t, goal.Max, goal.Name)
		}
	}
	require.Equal(t, 16, goals, "every goal of these is measured")
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
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var read report.Report
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, r.Series, read.Series)
}

func TestAnUnknownScenarioIsRefused(t *testing.T) {
	t.Parallel()
	_, err := bench.Run(t.Context(), bench.Options{Module: root, Only: []string{"limit", "speed"}})
	require.EqualError(t, err, `there is no scenario "speed"; there are `+strings.Join(bench.ScenarioNames(), ", "))
}
