//go:build failpoint

package worker

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Probes, and jobs that were set aside, start by the database's clock, because a process's clock may
// be wrong. The tests of probes and of such jobs run again in a process with a wrong clock.
func TestPausesEndWhateverTheProcessClockSays(t *testing.T) {
	t.Parallel()
	for skew, test := range map[string]string{"-1h": "TestProbesKeepTheirPace", "+1h": "TestWhatWaitsInASharedQueueIsSetAside"} {
		t.Run(skew, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$", "-test.timeout", "3m")
			cmd.Env = append(os.Environ(), "HOOKLATCH_CLOCK="+skew)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
