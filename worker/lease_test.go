package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
)

// A claim that took so long that another attempt may soon begin calls nobody.
func TestShortLeaseCallsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sender := &stubborn{fakeSender: "http", calls: make(chan int, 10)}
	b.opts.Destinations = []Destination{{Name: "app", Sender: sender, Timeout: time.Minute}}
	w := b.worker(t)
	l := w.lanes["app"]
	run := effectRun{effect: outbox.Effect{Attempt: 2}, leaseEnds: time.Now().Add(time.Minute)}
	w.send(t.Context(), l, &run)
	require.Empty(t, sender.calls)
	require.False(t, run.called, "it tells nothing of the destination")
	require.Equal(t, outbox.VerdictNotApplied, run.sent.Verdict)
	require.ErrorIs(t, run.sent.Err, errLeaseShort)

	run.leaseEnds = time.Now().Add(l.lease())
	w.send(t.Context(), l, &run)
	require.Len(t, sender.calls, 1)
	require.Equal(t, outbox.VerdictDone, run.sent.Verdict)
}
