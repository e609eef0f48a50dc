//go:build failpoint

package clock_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/clock"
)

// asked is the environment variable that turns this test binary into a program that prints the
// results of package clock.
const asked = "CLOCK_TEST_ASKED"

func TestMain(m *testing.M) {
	if os.Getenv(asked) == "" {
		os.Exit(m.Run())
	}
	now := time.Now()
	fmt.Print(clock.Skew(), clock.Now().Sub(now).Round(time.Minute), clock.Until(now.Round(0)).Round(time.Minute), clock.Since(now).Round(time.Minute)) //nolint:forbidigo // to the parent process
}

func TestClockIsWrongAsAsked(t *testing.T) {
	t.Parallel()
	for skew, want := range map[string]string{
		"":     "0s 0s 0s 0s",
		"+1h":  "1h0m0s 1h0m0s -1h0m0s 1h0m0s",
		"-90m": "-1h30m0s -1h30m0s 1h30m0s -1h30m0s",
	} {
		t.Run(skew, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), asked+"=1", "HOOKLATCH_CLOCK="+skew)
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Equal(t, want, string(out))
		})
	}
}
