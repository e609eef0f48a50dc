package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The leader's clock was an hour ahead, and is then corrected. The upkeep of that hour has already run,
// and runs again.
func TestUpkeepThatHasEndedPreventsNoUpkeep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(t)
	b.start(t, w)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed'`, kindPartitions)
	inserted, err := w.client.Insert(t.Context(), partitionsArgs{}, upkeepOpts(partitionsEvery))
	require.NoError(t, err)
	require.False(t, inserted.UniqueSkippedAsDuplicate)
}
