//go:build unix

package crashtest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// A worker process is frozen until after the end of its leases, while its requests are in progress.
// Another process finishes the effects. Then the first process continues, gets its responses and
// settles too late.
func TestStoppedWorkerSettlesNothing(t *testing.T) {
	t.Parallel()
	for policy, end := range map[ledger.Policy]ledger.EffectState{
		ledger.AtLeastOnce: ledger.EffectDone,
		ledger.AtMostOnce:  ledger.EffectParked,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			const n = 10
			l, r := newScene(t, "http", policy), newReceiver(t)
			keys := l.enqueue(t, n, func(i int) ledger.Request { return ledger.Request{Body: fmt.Append(nil, i)} })
			s := setting{URL: r.url, Timeout: patience, Policy: policy, Concurrency: n}
			r.holdAnswers()
			first := startWorker(t, l.pool, s)
			require.Eventually(t, func() bool { return r.waiting() == n }, patience, time.Millisecond)
			freeze(t, l, first)
			release := r.answerOthers()
			l.passTime(t)
			second := startWorker(t, l.pool, s)
			require.Eventually(t, func() bool { return len(l.inState(t, end)) == n }, patience, 5*time.Millisecond)
			before := l.rows(t)

			release()
			require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
			require.Eventually(t, func() bool { return first.containing(`"outcome":"late"`) == n }, patience, time.Millisecond)
			require.Len(t, first.marked(markAnswered), n, "the first process got its responses")
			require.Equal(t, before, l.rows(t), "a late settlement changed the effect")
			for i, key := range keys {
				attempts, err := l.Ledger().Attempts(t.Context(), effectID(i))
				require.NoError(t, err)
				require.Equal(t, "unknown", attempts[0].Applied)
				require.True(t, attempts[0].Lost)
				if policy == ledger.AtMostOnce {
					require.Len(t, attempts, 1)
					require.Equal(t, 1, r.callsOf(key))
					continue
				}
				require.Len(t, attempts, 2)
				require.Equal(t, "yes", attempts[1].Applied)
				require.Equal(t, 2, r.callsOf(key))
			}
			t.Logf("%d late settlements changed nothing; the second worker made %d calls", n, len(second.marked(markAnswered)))
		})
	}
}

// freeze stops the process, but not within a transaction, whose locks would also block the other
// process.
func freeze(t *testing.T, l *scene, p *process) {
	t.Helper()
	require.Eventually(t, func() bool {
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		if l.openTransactions(t) == 0 {
			return true
		}
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		return false
	}, patience, 5*time.Millisecond)
}

// rows returns all effects with all columns, and their attempts.
func (l *scene) rows(t *testing.T) string {
	t.Helper()
	var rows string
	require.NoError(t, l.pool.QueryRow(t.Context(), `
		SELECT (SELECT string_agg(e::text, E'\n' ORDER BY e.key) FROM hooklatch.effects AS e)
			|| (SELECT string_agg(a::text, E'\n' ORDER BY a.key, a.attempt) FROM hooklatch.all_attempts AS a)`).Scan(&rows))
	return rows
}
