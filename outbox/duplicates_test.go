package outbox

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

func TestTheLastTimesOfDuplicatesAreKept(t *testing.T) {
	t.Parallel()
	var note duplicateNote
	var room atomic.Bool // for gathered counts
	counted := newDuplicateCount(func(n duplicateNote) bool {
		note = n
		return room.Load()
	})
	first := time.Now()
	for i := range keptTimes + 3 {
		require.True(t, counted.add(identity.EventRef{Source: "stripe", EventID: "evt_1"}, i == 1, first.Add(time.Duration(i)*time.Second)))
	}
	room.Store(true)
	require.NoError(t, counted.runner.Stop(t.Context())) // writes the rest
	require.EqualValues(t, keptTimes+3, note.count)
	require.True(t, note.bodyDiffers)
	require.Len(t, note.times, keptTimes)
	require.Equal(t, first.Add(3*time.Second), note.times[0])
	require.Equal(t, first.Add((keptTimes+2)*time.Second), note.times[keptTimes-1])
}
