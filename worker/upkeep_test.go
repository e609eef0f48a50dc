package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Upkeep of a period runs again even if it has already run in that period, for example before the
// leader's clock was set back.
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
