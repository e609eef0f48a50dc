package torture_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/torture"
)

// The test is the short form of the command, as in CI. It uses real processes, its own Postgres
// with a synchronous standby, and faults of every lane except redis. HOOKLATCH_LONG=1 extends it to
// ten minutes.
func TestTortureFindsNoViolation(t *testing.T) {
	t.Parallel()
	opts := torture.Options{
		Time: 15 * time.Second, Seed: 1, Module: "../../..", Dir: t.TempDir(), Pause: time.Second, MinAcked: 100, MinFaults: 8,
		Command: "go test ./cmd/hookstorm/torture -run TestTortureFindsNoViolation",
	}
	if os.Getenv("HOOKLATCH_LONG") != "" {
		opts.Time, opts.Pause, opts.MinAcked, opts.MinFaults = 10*time.Minute, 0, 0, 0
	}
	var said, report bytes.Buffer
	var result torture.Result
	for { // a busy machine needs more time for the same work
		said.Reset()
		report.Reset()
		opts.Out = &said
		var err error
		result, err = torture.Run(t.Context(), opts)
		require.NoError(t, err, "%s", &said)
		require.NoError(t, torture.Print(&report, result))
		t.Logf("%s%s", &said, &report)
		tooLittle := func(v checker.Violation) bool { return v.Rule == checker.RuleVacuity }
		if !slices.ContainsFunc(result.Verdict.Violations, tooLittle) || opts.Time >= 4*time.Minute {
			break
		}
		opts.Time, opts.Dir = 2*opts.Time, t.TempDir()
	}
	require.Empty(t, result.Verdict.Violations)
	require.Contains(t, report.String(), " 0 violations\n")
}

func TestRunThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]torture.Options{
		"root of the source tree": {},
		"too short":               {Module: "../../..", Time: time.Millisecond},
		"too few":                 {Module: "../../..", Rate: 0.5},
		"no fault":                {Module: "../../..", Only: []string{"earthquake"}},
	} {
		_, err := torture.Run(t.Context(), opts)
		require.ErrorContains(t, err, want, fmt.Sprint(opts))
	}
}
