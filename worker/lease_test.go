package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// An attempt calls no destination if its claim took so long that another attempt may soon begin.
func TestShortLeaseCallsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sender := &stubborn{fakeSender: "http", calls: make(chan int, 10)}
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: sender, Timeout: time.Minute}}
	w := b.worker(t)
	l := w.lanes["app"]
	made := w.attempts.call(t.Context(), l, &ledger.Effect{Attempt: 2}, time.Now().Add(time.Minute))
	require.Empty(t, sender.calls)
	require.False(t, made.made, "the outcome does not count for the destination")
	require.Equal(t, ledger.VerdictNotApplied, made.outcome.Verdict)
	require.ErrorIs(t, made.outcome.Err, errLeaseShort)

	made = w.attempts.call(t.Context(), l, &ledger.Effect{Attempt: 2}, time.Now().Add(l.lease()))
	require.Len(t, sender.calls, 1)
	require.Equal(t, ledger.VerdictDone, made.outcome.Verdict)
}
