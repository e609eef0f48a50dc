package planted_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/planted"
)

// The checker finds each bug by one of its rules, and finds nothing after the same schedule without
// the bug. A checker that always reports something is worthless.
func TestEveryPlantedBugIsFound(t *testing.T) {
	t.Parallel()
	times, tries := 1, 3
	if os.Getenv("HOOKLATCH_LONG") != "" {
		times, tries = 20, 1
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	opts, err := planted.Build(t.Context(), root, dir)
	require.NoError(t, err)
	hunt, err := planted.New(opts)
	require.NoError(t, err)
	require.NoError(t, hunt.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, hunt.Stop(ctx))
	})
	cases := planted.Cases()
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") == "" {
		cases = slices.DeleteFunc(cases, func(c planted.Case) bool { return c.Redis })
	}
	rows, err := hunt.Prove(t.Context(), planted.Proof{Cases: cases, Times: times, Tries: tries, AtOnce: 6})
	var table strings.Builder
	require.NoError(t, planted.Print(&table, rows))
	t.Log("\n" + table.String())
	require.NoError(t, err)
}

func TestEveryBugHasACase(t *testing.T) {
	t.Parallel()
	var covered []bugs.Bug
	for _, c := range planted.Cases() {
		covered = append(covered, c.Bug)
		require.NotEmpty(t, c.Rules, c.Bug)
		require.NotEmpty(t, c.Schedule, c.Bug)
	}
	require.Equal(t, bugs.All(), covered)
}
