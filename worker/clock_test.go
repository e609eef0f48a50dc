//go:build failpoint

package worker

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The clock of a process may be wrong. Destinations are probed, and jobs that were set aside continue,
// when the database's clock says so. The tests run again in a process with such a clock.
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
