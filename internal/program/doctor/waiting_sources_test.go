package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
)

func TestOneSkippedEventIsInTheSingular(t *testing.T) {
	t.Parallel()
	for before, want := range map[int64]string{1: "5 had a route and 1 was skipped", 2: "5 had a route and 2 were skipped"} {
		w := &waiting{measured: reading{snapshot: &measure.Snapshot{Standing: measure.Standing{Skipped: []measure.SkippedEvents{{Source: "s", Count: 30, CountBefore: before, DispatchedBefore: 5}}}}}}
		w.bySource()
		require.Len(t, w.findings, 1)
		require.Contains(t, w.findings[0].Message, want)
	}
}
