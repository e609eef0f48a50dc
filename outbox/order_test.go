package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// fetched is an effect job that a test worker fetched.
type fetched struct {
	jobID int64
	id    identity.EffectID
}

// fetch takes any available effect job, as River does. It returns false if none is available.
func (b *bundle) fetch(ctx context.Context) (fetched, bool, error) {
	var f fetched
	err := b.pool.QueryRow(ctx, `UPDATE hooklatch.river_job SET state = 'running'
		WHERE id = (
			SELECT id FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'available'
			ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED
		)
		RETURNING id, args ->> 'scope', args ->> 'key', (args ->> 'generation')::integer`).
		Scan(&f.jobID, &f.id.Scope, &f.id.Key, &f.id.Generation)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, false, nil
	}
	return f, err == nil, err
}

// put completes the job, or returns it to its queue.
func (b *bundle) put(ctx context.Context, f fetched, state string) error {
	_, err := b.pool.Exec(ctx, `UPDATE hooklatch.river_job
		SET state = $2::hooklatch.river_job_state, finalized_at = CASE WHEN $2 = 'completed' THEN now() END
		WHERE id = $1`, f.jobID, state)
	return err
}

// ordered returns an effect of e in an order.
func ordered(e *inbox.Event, order string) ledger.NewEffect {
	n := planned(e, string(e.EventID))
	n.OrderKey = order
	return n
}

// receiver checks that the effects of each order arrive one at a time and in the expected order.
type receiver struct {
	mu       sync.Mutex
	expected map[string][]identity.EffectID // by order, in the expected order of arrival
	atWork   map[string]identity.EffectID
	most     int // highest number of orders that ran simultaneously
	done     int
	parked   []string
	faults   []string
}

func (r *receiver) start(e *ledger.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.expected[e.OrderKey]
	if len(next) == 0 || next[0] != e.EffectID {
		r.faults = append(r.faults, fmt.Sprintf("%s came out of order", e.EffectID))
	}
	if other, busy := r.atWork[e.OrderKey]; busy {
		r.faults = append(r.faults, fmt.Sprintf("%s came while %s was at work", e.EffectID, other))
	}
	r.atWork[e.OrderKey] = e.EffectID
	r.most = max(r.most, len(r.atWork))
}

func (r *receiver) end(e *ledger.Effect, state ledger.EffectState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.atWork, e.OrderKey)
	if state == ledger.EffectDone {
		r.expected[e.OrderKey] = r.expected[e.OrderKey][1:]
		r.done++
	}
}

func (r *receiver) park(e *ledger.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parked = append(r.parked, e.IdempotencyKey)
}

func (r *receiver) finished(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done == n || len(r.faults) > 0
}

// unpark removes a parked effect from the list and returns its key, or "" if none is parked.
func (r *receiver) unpark() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.parked) == 0 {
		return ""
	}
	key := r.parked[0]
	r.parked = r.parked[1:]
	return key
}

// work runs one worker. It crashes in the middle of some attempts, and some attempts park their
// effect.
func (b *bundle) work(ctx context.Context, r *receiver, total int, seed uint64) error {
	dice := rand.New(rand.NewPCG(seed, 1))
	for !r.finished(total) {
		job, found, err := b.fetch(ctx)
		if err != nil {
			return err
		}
		if !found {
			if key := r.unpark(); key == "" {
				<-time.After(5 * time.Millisecond) // the other workers have taken all available jobs
			} else if err := b.Ledger().Retry(ctx, key, ann); err != nil {
				return err
			}
			continue
		}
		fate := dice.IntN(100)
		claim := ledger.Claim{ID: job.id, ClaimID: uuid.New(), Lease: lease, JobID: job.jobID}
		if fate < 5 {
			claim.Lease = time.Nanosecond // this attempt is lost
		}
		c, err := b.Ledger().Claim(ctx, claim)
		if err != nil {
			return err
		}
		state := "completed"
		switch {
		case c.Status == ledger.ClaimGranted && fate < 5:
			r.start(&c.Effect)
			r.end(&c.Effect, ledger.EffectStarted)
			state = "available" // rescued
		case c.Status == ledger.ClaimGranted:
			r.start(&c.Effect)
			if err := b.pool.Ping(ctx); err != nil { // the call takes a moment
				return err
			}
			s := ledger.Settlement{Effect: c.Effect, Verdict: ledger.VerdictDone}
			switch {
			case fate < 10:
				s.Verdict, state = ledger.VerdictNotApplied, "available"
			case fate < 13:
				s.Verdict, s.GiveUp = ledger.VerdictMaybeApplied, true
			}
			// The call ends before the commit that admits the next effect.
			r.end(&c.Effect, map[ledger.Verdict]ledger.EffectState{ledger.VerdictDone: ledger.EffectDone}[s.Verdict])
			if _, err := b.Ledger().Settle(ctx, s); err != nil {
				return err
			}
			if s.GiveUp {
				r.park(&c.Effect)
			}
		case c.Status == ledger.ClaimBlocked && !c.Woken, c.Status == ledger.ClaimLeased, c.Status == ledger.ClaimNotDue:
			state = "available" // snoozed
		}
		if err := b.put(ctx, job, state); err != nil {
			return err
		}
	}
	return nil
}

// 1,000 events over 50 keys are dispatched in a shuffled order while workers run. The effects of
// each key reach the receiver in order of acceptance.
func TestOrderIsKeptPerKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const events, keys, workers = 1000, 50, 8
	var ids []string
	for i := range events {
		ids = append(ids, fmt.Sprintf("evt_%04d", i))
	}
	d := delivery("stripe", ids...)
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	r := &receiver{expected: make(map[string][]identity.EffectID), atWork: make(map[string]identity.EffectID)}
	dispatches := make([]Dispatch, 0, events)
	for i, id := range ids {
		e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(id)})
		require.NoError(t, err)
		effect := ordered(e, fmt.Sprintf("customer_%d", i%keys))
		r.expected[effect.OrderKey] = append(r.expected[effect.OrderKey], effect.EffectID)
		dispatches = append(dispatches, Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	}
	rand.Shuffle(events, func(i, j int) { dispatches[i], dispatches[j] = dispatches[j], dispatches[i] })

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // a slow machine needs minutes for 7,000 transactions
	defer cancel()
	var all sync.WaitGroup
	queue := make(chan Dispatch, events)
	for _, d := range dispatches {
		queue <- d
	}
	close(queue)
	for range 4 {
		all.Go(func() {
			for d := range queue {
				if _, err := b.Dispatch(ctx, d); err != nil {
					t.Errorf("dispatch: %v", err)
					cancel()
				}
			}
		})
	}
	for i := range workers {
		all.Go(func() {
			if err := b.work(ctx, r, events, uint64(i)); err != nil {
				t.Errorf("work: %v", err)
				cancel()
			}
		})
	}
	all.Wait()
	require.Empty(t, r.faults)
	require.Equal(t, events, r.done)
	require.Greater(t, r.most, 1, "different keys run in parallel")
	require.Equal(t, events, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`))
	jobs := b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`)
	t.Logf("%d keys in progress at the same time, %d jobs for %d effects", r.most, jobs, events)
}
