package crashtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	kills  = 4  // kills at each point
	batch  = 20 // simultaneous effects of a worker process
	caught = 10 // a kill counts only if it catches at least this many effects at the point
	// A process that is killed while it settles may already have claimed the next batch. A kill
	// that comes too late is repeated, possibly many times on a busy machine.
	tries   = 4 * kills
	effects = tries*2*batch + batch
)

// I6, I7, I8: worker processes are killed with SIGKILL at each point of an attempt. An
// undisturbed process then finishes the work.
func TestKilledWorkersNeitherLoseNorDouble(t *testing.T) {
	t.Parallel()
	for _, policy := range []ledger.Policy{ledger.AtLeastOnce, ledger.AtMostOnce} {
		for _, at := range []point{beforeIt, afterSent, answered, settling} {
			t.Run(fmt.Sprintf("%s/%s", policy, at), func(t *testing.T) {
				t.Parallel()
				c := &crash{scene: newScene(t, "http", policy), receiver: newReceiver(t), policy: policy, at: at}
				c.keys = c.enqueue(t, effects, func(i int) ledger.Request {
					return ledger.Request{ContentType: "application/json", Body: fmt.Appendf(nil, `{"order":%d}`, i)}
				})
				met := 0
				for try := 0; try < tries && met < kills; try++ {
					if c.kill(t, try) >= caught {
						met++
					}
				}
				require.NotZero(t, met, "every kill came too late")
				c.inDoubt, c.uncalled = c.unsettled(t)
				c.receiver.release()
				c.passTime(t)
				startWorker(t, c.pool, setting{URL: c.receiver.url, Timeout: patience, Policy: policy, Concurrency: batch})
				c.finish(t)
				c.verify(t)
			})
		}
	}
}

// crash is one case of the test: kills at one point, under one policy.
type crash struct {
	*scene

	receiver *receiver
	policy   ledger.Policy
	at       point
	keys     []string

	inDoubt  []string // unsettled when their process died, after the receiver was called
	uncalled []string // unsettled when their process died, before the call
}

// kill starts a worker process, and kills the process when a batch of its effects has reached the
// point. It returns the number of effects that the kill caught: their jobs were still running. If
// the process is settling, every second kill happens once some outcomes are committed. The other
// kills happen at a random moment, up to 5 ms after all responses arrived.
func (c *crash) kill(t *testing.T, try int) int {
	t.Helper()
	called := c.receiver.total()
	if c.at == afterSent {
		c.receiver.holdAnswers()
	}
	p := startWorker(t, c.pool, setting{URL: c.receiver.url, Timeout: patience, Policy: c.policy, Concurrency: batch, WaitAt: c.at, Batch: batch})
	require.Eventually(t, func() bool {
		switch c.at {
		case beforeIt:
			return len(p.marked(markBefore)) == batch
		case afterSent:
			return c.receiver.waiting() == batch
		}
		return len(p.marked(markAnswered)) == batch
	}, patience, 200*time.Microsecond)
	switch {
	case c.at == settling && try%2 == 1:
		keys := p.marked(markAnswered)
		require.Eventually(t, func() bool { return c.settled(t, keys) > 0 }, patience, 100*time.Microsecond)
	case c.at == settling:
		<-time.After(time.Duration(rand.IntN(5_000)) * time.Microsecond)
	}
	p.kill()
	c.settleDown(t)

	keys := p.marked(markBefore)
	if c.at == settling {
		keys = p.marked(markAnswered) // the other effects have not called the receiver yet
	}
	running := c.count(t, `SELECT count(*) FROM hooklatch.effects AS e JOIN hooklatch.river_job AS j ON j.id = e.job_id
		WHERE e.idempotency_key = ANY($1) AND j.state = 'running'`, keys)
	settled := c.settled(t, keys)
	t.Logf("the kill caught %d effects, %d of them settled; the receiver had received %d calls", running, settled, c.receiver.total()-called)
	if c.at == settling {
		return running
	}
	require.Equal(t, batch, running)
	require.Zero(t, settled)
	if c.at == beforeIt {
		require.Equal(t, called, c.receiver.total())
	}
	return running
}

func (c *crash) settled(t *testing.T, keys []string) int {
	t.Helper()
	return c.count(t, `SELECT count(*) FROM hooklatch.effects WHERE idempotency_key = ANY($1) AND state = 'done'`, keys)
}

// unsettled returns the keys of the effects that dead processes left unsettled. The keys in inDoubt
// reached the receiver; the keys in uncalled did not.
func (c *crash) unsettled(t *testing.T) (inDoubt, uncalled []string) {
	t.Helper()
	for _, key := range c.inState(t, ledger.EffectStarted) {
		if c.receiver.callsOf(key) > 0 {
			inDoubt = append(inDoubt, key)
		} else {
			uncalled = append(uncalled, key)
		}
	}
	return inDoubt, uncalled
}

func (c *crash) verify(t *testing.T) {
	t.Helper()
	done, parked := c.inState(t, ledger.EffectDone), c.inState(t, ledger.EffectParked)
	require.Len(t, append(slices.Clone(done), parked...), len(c.keys), "every effect is done or parked")
	histogram := make(map[int]int)
	for _, key := range c.keys {
		calls := c.receiver.callsOf(key)
		histogram[calls]++
		for _, hash := range c.receiver.calls[key] {
			require.Equal(t, c.receiver.calls[key][0], hash, "every attempt sends the same body (I7)")
		}
		switch {
		case c.policy == ledger.AtMostOnce && slices.Contains(c.uncalled, key):
			require.Zero(t, calls, key)
		case c.policy == ledger.AtLeastOnce && slices.Contains(c.inDoubt, key):
			require.Equal(t, 2, calls, key)
		default:
			require.Equal(t, 1, calls, key)
		}
	}
	t.Logf("%d killed after the request was sent, %d before; %d done, %d parked; effects by calls: %v",
		len(c.inDoubt), len(c.uncalled), len(done), len(parked), histogram)

	lost := c.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE lost AND applied = 'unknown'`)
	require.Equal(t, len(c.inDoubt)+len(c.uncalled), lost, "the ledger records every lost attempt")
	if c.policy == ledger.AtLeastOnce {
		require.Empty(t, parked)
		require.Len(t, c.receiver.applied, len(c.keys))
		for key, times := range c.receiver.applied {
			require.Equal(t, 1, times, key)
		}
		return
	}
	left := slices.Concat(c.inDoubt, c.uncalled)
	slices.Sort(left)
	require.Equal(t, left, parked, "exactly the effects in doubt are parked")
}
