package torture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/torture"
)

func published(seed int64, acked int64, faults ...torture.FaultCount) torture.Published {
	return torture.Published{
		Result: torture.Result{Acked: acked, Commit: "0123456789abcdef", Faults: faults},
		Run:    history.Run{Seed: seed, Command: "go -C cmd/hookstorm run . torture"},
	}
}

func page(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guarantees.md")
	text := "# Guarantees\n\n<!-- totals of torture: written by hookstorm check --publish -->\nold\n<!-- end of totals -->\n\nThe end.\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTotalsReplaceThoseOfThePage(t *testing.T) {
	t.Parallel()
	path := page(t)
	require.NoError(t, torture.Publish(path, []torture.Published{
		published(1, 100, torture.FaultCount{Kind: "a", Fired: 3}, torture.FaultCount{Kind: "disk", Fired: 9, Simulated: true}),
		published(2, 50, torture.FaultCount{Kind: "a", Fired: 1}, torture.FaultCount{Kind: "b", Fired: 2}),
	}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "**150 deliveries acknowledged, 6 faults of 2 kinds, 0 violations.**", "simulated ones do not count")
	require.Contains(t, string(text), "| 2 | 50 | 3 of 2 kinds | 0 | 0123456789ab | `go -C cmd/hookstorm run . torture` |")
	require.NotContains(t, string(text), "old")
	require.Contains(t, string(text), "The end.")
}

func TestRunWithViolationsIsNotPublished(t *testing.T) {
	t.Parallel()
	path := page(t)
	bad := published(1, 100)
	bad.Result.Verdict.Violations = []checker.Violation{{Rule: "I1"}}
	require.ErrorContains(t, torture.Publish(path, []torture.Published{bad}), "1 violations")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "old")
}
