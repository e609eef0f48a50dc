package upgrade_test

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/upgrade"
)

// longEnv enables the tests that take minutes.
const longEnv = "HOOKLATCH_LONG"

// Processes of the previous version are replaced one by one and put back under load, and nothing
// is lost or doubled. Mistakes that only old processes notice are found. The test takes minutes,
// because it builds two programs.
func TestProcessesAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	if os.Getenv(longEnv) == "" {
		t.Skipf("set %s", longEnv)
	}
	binaries, err := upgrade.Build(t.Context(), root, upgrade.Previous, t.TempDir())
	require.NoError(t, err)
	for _, test := range []struct { //nolint:paralleltest // each has the machine to itself
		name, planted, found string
		patience             time.Duration // 2 minutes by default, for a busy machine
	}{
		{name: "nothing is planted"},
		{
			name: "a column is dropped", planted: "ALTER TABLE hooklatch.effects DROP COLUMN route",
			found: `WARN: .*column \S+route\S+ of relation \S+effects\S+ does not exist`, patience: 10 * time.Second,
		},
		{
			name: "a job has a new kind", planted: "INSERT INTO hooklatch.river_job (kind, args, max_attempts, queue) VALUES ('effect.next', '{}', 3, 'dispatch')",
			found: `unfinished after 10s: .*1 jobs of kind effect\.next`, patience: 10 * time.Second,
		},
		{
			name: "an event is lost", planted: `WITH found AS (SELECT min(event_id) AS id FROM hooklatch.processed_events)
			DELETE FROM hooklatch.processed_events USING found WHERE event_id = found.id`,
			found: "1 acknowledged events were lost",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := upgrade.Run(t.Context(), upgrade.Options{
				Binaries: binaries, Dir: t.TempDir(), Events: 400, Rate: 50, Patience: cmp.Or(test.patience, 2*time.Minute), Planted: []string{test.planted}, Out: t.Output(),
			})
			require.NoError(t, err)
			if test.found != "" {
				require.Regexp(t, test.found, strings.Join(report.Found, "\n"))
				return
			}
			require.Empty(t, report.Found)
			require.GreaterOrEqual(t, report.Upgraded, 400)
			require.GreaterOrEqual(t, report.Returned, 400)
		})
	}
}
