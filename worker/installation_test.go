package worker

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const withheldLine = "at_most_once effects are withheld: the database was restored, promoted or moved, and they may have been done already; " +
	"confirm what happened with `hooklatch repair --restored-to TIME` or `hooklatch repair --promoted`"

// moved makes the database look as if its server were a promoted standby.
func (b *bundle) moved(t *testing.T) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = timeline - 1`)
	require.NoError(t, err)
}

// A worker that finds itself on another server logs that it withholds at_most_once effects, and
// continues all other work. Once an operator has confirmed the server, the worker starts the
// withheld effects.
func TestAWorkerOnAnotherServerWithholdsAndSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mails, calls atomic.Int64
	b.addHTTP(t, "app", func(http.ResponseWriter, *http.Request) { calls.Add(1) }, func(*DestinationOptions) {})
	b.addHTTP(t, "mail", func(http.ResponseWriter, *http.Request) { mails.Add(1) }, func(d *DestinationOptions) { d.Policy = ledger.AtMostOnce })
	b.moved(t)
	b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'done'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'dst_mail' AND state = 'scheduled'`)
	require.Eventually(t, func() bool { return len(b.lines(t, withheldLine)) == 1 }, 2*time.Minute, 20*time.Millisecond)
	require.EqualValues(t, 1, calls.Load())
	require.Zero(t, mails.Load())
	require.NoError(t, b.outbox.Repair().Promoted(t.Context(), ledger.Operator{Who: "ann", Via: "test"}))
	require.Eventually(t, func() bool { return mails.Load() == 1 }, 2*time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { return len(b.lines(t, "at_most_once effects are no longer withheld")) == 1 }, 2*time.Minute, 20*time.Millisecond)
	require.Len(t, b.lines(t, withheldLine), 1, "the line is logged only once in a while")
}

// If commits wait for the standby, no operator needs to confirm that the standby has all data.
func TestAWorkerFollowsASynchronousStandby(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addHTTP(t, "mail", func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Policy = ledger.AtMostOnce })
	b.moved(t)
	b.opts.Synchronous = true
	b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	require.Eventually(t, func() bool { // another goroutine writes the log line
		return len(b.lines(t, "a standby was promoted: commits wait for it, so nothing is missing")) == 1
	}, 2*time.Minute, time.Millisecond)
	require.Empty(t, b.lines(t, withheldLine))
}
