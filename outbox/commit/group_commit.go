package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/drain"
)

// Limits of one group commit.
const (
	maxBatchMembers = 64
	maxBatchItems   = 1000
	maxBatchBytes   = 4 << 20
)

const (
	defaultCommitters = 2
	// defaultQueueCap limits the number of waiting members, to 64 full batches.
	defaultQueueCap = 4096
	// triesTogether is the number of temporary faults after which the members of a batch are tried
	// separately.
	triesTogether = 3
)

// Group lets concurrent members share transactions. While a commit is in flight, the next batch
// fills. A single member does not wait for others, so it has the latency of its own transaction.
// T1, T2 and both halves of T3 each use a Group.
//
// GroupOptions.Run writes a member M together with others. The member's submitter gets the result R
// only after COMMIT has succeeded. A bad member never fails its neighbours: a batch that the server
// refuses is bisected. A batch that waits for another transaction's lock leaves its committer
// (group_commit_blocked.go).
type Group[M, R any] struct {
	db   *DB
	name Name
	opts GroupOptions[M, R]
	used string // see txSettings
	kind metric.MeasurementOption

	blocked chan struct{} // slots of the lanes for members that wait for a lock

	underway sync.WaitGroup // working committers and lanes

	mu     sync.Mutex
	queue  []*waiting[M, R]
	active int       // number of working committers
	begun  time.Time // start of the latest batch
	waking bool      // a timer will check whether another committer is due
	closed bool
}

// waiting is one submitted member.
type waiting[M, R any] struct {
	member   M // zero after its release
	deadline time.Time
	taken    bool // a committer has it; guarded by Group.mu
	given    bool // its submitter gave up before a committer took it; guarded by Group.mu
	left     bool // its submitter no longer waits, but it may still be committed; guarded by Group.mu
	doubt    bool // a COMMIT that included it has an unknown outcome
	done     chan outcome[R]
}

type outcome[R any] struct {
	result R
	err    error
}

// GroupOptions configure a Group.
type GroupOptions[M, R any] struct {
	// Run writes all members inside tx and returns one result for each, in order. After a failure
	// or an unknown outcome, it may be called again with the same members or some of them. It must
	// therefore recognise its own rows. Required.
	Run func(ctx context.Context, tx pgx.Tx, members []M) ([]R, error)
	// Weigh returns the number of items and bytes that a member adds to a batch. Defaults to one
	// item.
	Weigh func(M) (items, bytes int)
	// Release is called once for every member that was passed to Submit or queued by Offer, when
	// the Group no longer needs the member. The parameter err is nil if the member is committed.
	// Release may be nil.
	Release func(m M, err error)
	// Uncertain is true if Run cannot recognise its own rows. Members whose COMMIT has an unknown outcome
	// are then not tried again, and get ErrUnavailable.
	Uncertain bool
	// Unheard is called for every member that may be committed although Submit did not return its
	// result. The call follows the end of the member's last transaction. Unheard may be nil.
	Unheard func(M)

	// Inline is true if Submit itself commits its member when no committer works, which saves two
	// hand-overs. Submit then does not return before its own transaction ends, even if ctx ends.
	Inline bool
	// Patience is the time that a batch must be in flight before another committer starts, unless a
	// full batch waits. Members that arrive meanwhile share one transaction. The more members share its
	// statements, the less each member costs. Zero: another committer starts immediately.
	Patience time.Duration

	Committers int           // maximum number of simultaneous group commits, each on its own connection; defaults to 2
	QueueCap   int           // maximum number of waiting members; defaults to 4096
	Timeout    time.Duration // timeout of a member, including its wait; defaults to 10 seconds
}

func (opts GroupOptions[M, R]) withDefaults() GroupOptions[M, R] {
	opts.Committers = cmp.Or(opts.Committers, defaultCommitters)
	opts.QueueCap = cmp.Or(opts.QueueCap, defaultQueueCap)
	opts.Timeout = cmp.Or(opts.Timeout, doTimeout)
	if opts.Weigh == nil {
		opts.Weigh = func(M) (items, bytes int) { return 1, 0 }
	}
	if opts.Release == nil {
		opts.Release = func(M, error) {}
	}
	if opts.Unheard == nil {
		opts.Unheard = func(M) {}
	}
	return opts
}

// NewGroup returns a Group for the transactions with one name. It starts nothing: committers run
// only while they have something to commit.
func NewGroup[M, R any](db *DB, name Name, opts GroupOptions[M, R]) *Group[M, R] {
	g := &Group[M, R]{
		db:      db,
		name:    name,
		opts:    opts.withDefaults(),
		used:    noteUsed + string(name),
		kind:    metric.WithAttributeSet(attribute.NewSet(attribute.String("kind", string(name)))),
		blocked: make(chan struct{}, maxBlockedLanes),
	}
	return g
}

// Submit waits until m is committed or refused, or its timeout has passed. If ctx ends first,
// Submit returns ErrUnavailable, and the member may still be committed.
func (g *Group[M, R]) Submit(ctx context.Context, m M) (R, error) {
	var none R
	w := &waiting[M, R]{member: m, deadline: time.Now().Add(g.opts.Timeout), done: make(chan outcome[R], 1)}
	inline, err := g.enqueue(w, g.opts.Inline)
	if err != nil {
		g.forget(w, err)
		return none, err
	}
	if inline {
		g.commitOnce()
	}
	timer := time.NewTimer(g.opts.Timeout)
	defer timer.Stop()
	var gone error
	select {
	case out := <-w.done:
		return out.result, out.err
	case <-ctx.Done():
		gone = fmt.Errorf("%w: outcome not awaited: %w", ErrUnavailable, context.Cause(ctx))
	case <-timer.C:
		gone = fmt.Errorf("%w: no outcome within %s", ErrUnavailable, g.opts.Timeout)
		if g.giveUp(w) {
			return none, fmt.Errorf("%w: waited %s for a group commit", ErrBusy, g.opts.Timeout)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case out := <-w.done: // the outcome arrived at the moment when the wait ended
		return out.result, out.err
	default:
		w.left = true
	}
	return none, gone
}

// giveUp withdraws a member that no committer has taken, and reports whether it did so.
func (g *Group[M, R]) giveUp(w *waiting[M, R]) bool {
	g.mu.Lock()
	w.given = !w.taken
	g.mu.Unlock()
	if w.given {
		g.forget(w, ErrBusy)
	}
	return w.given
}

// Offer queues m and returns without waiting. It reports whether m was queued: a full queue or a
// stopped Group takes no member. Offer does not return the outcome.
func (g *Group[M, R]) Offer(m M) bool {
	_, err := g.enqueue(&waiting[M, R]{member: m, deadline: time.Now().Add(g.opts.Timeout), done: make(chan outcome[R], 1)}, false)
	return err == nil
}

// enqueue queues w, and ensures that a committer takes it. With inline, the caller becomes the
// committer if no other committer works; byCaller is then true.
func (g *Group[M, R]) enqueue(w *waiting[M, R], inline bool) (byCaller bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false, ErrClosed
	}
	if len(g.queue) >= g.opts.QueueCap {
		return false, fmt.Errorf("%w: %d are already waiting", ErrBusy, len(g.queue))
	}
	g.queue = append(g.queue, w)
	if inline && g.active == 0 {
		g.active++
		g.underway.Add(1)
		return true, nil
	}
	g.startCommitter()
	return false, nil
}

// startCommitter starts a committer for waiting members, if one is due. g.mu is held.
func (g *Group[M, R]) startCommitter() {
	if g.active == g.opts.Committers {
		return
	}
	if early := g.opts.Patience - time.Since(g.begun); g.active > 0 && len(g.queue) < maxBatchMembers && early > 0 {
		if !g.waking {
			g.waking = true
			time.AfterFunc(early, g.wake)
		}
		return
	}
	g.active++
	g.underway.Go(g.commitUntilEmpty)
}

// wake checks again whether another committer is due. While a member waits, a committer is working.
// Stop waits for that committer, and therefore also for a committer that wake starts.
func (g *Group[M, R]) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waking = false
	if len(g.queue) > 0 {
		g.startCommitter()
	}
}

// commitOnce commits one batch. Members that arrived meanwhile are left to another committer.
func (g *Group[M, R]) commitOnce() {
	defer g.underway.Done()
	batch := g.take()
	if len(batch) == 0 {
		return
	}
	g.commit(batch)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) > 0 {
		g.underway.Go(g.commitUntilEmpty)
		return
	}
	g.active--
}

// commitUntilEmpty runs one committer. It ends when no member waits, so an idle Group has no
// goroutine.
func (g *Group[M, R]) commitUntilEmpty() {
	for {
		batch := g.take()
		if len(batch) == 0 {
			return
		}
		g.commit(batch)
	}
}

// take removes the next batch from the queue. If the queue is empty, it returns no batch, and
// deregisters the committer in the same critical section.
func (g *Group[M, R]) take() []*waiting[M, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch []*waiting[M, R]
	items, size, used := 0, 0, 0
	for _, w := range g.queue {
		if w.given { // its submitter got ErrBusy, so the member must not be stored later
			used++
			continue
		}
		n, b := g.opts.Weigh(w.member)
		if len(batch) > 0 && (len(batch) == maxBatchMembers || items+n > maxBatchItems || size+b > maxBatchBytes) {
			break
		}
		w.taken = true
		batch = append(batch, w)
		items, size, used = items+n, size+b, used+1
	}
	rest := copy(g.queue, g.queue[used:])
	clear(g.queue[rest:])
	g.queue = g.queue[:rest]
	if len(batch) == 0 {
		g.active--
		return nil
	}
	g.begun = time.Now()
	return batch
}

// commit finishes every member of the batch, or moves the batch to a lane (see sideline).
func (g *Group[M, R]) commit(batch []*waiting[M, R]) {
	g.db.batchSize.Record(context.Background(), int64(len(batch)), g.kind)
	tries := 0
	if len(batch) > 1 {
		tries = triesTogether
	}
	results, err := g.transact(batch, lockTimeout, tries)
	if isStatementOfMoment(err) && len(batch) > 1 {
		if g.sideline(batch) {
			return
		}
		results, err = g.transact(batch, lockTimeout, 0) // all lanes are busy, so a single member is probably not the cause
	}
	switch {
	case err == nil:
		for i, w := range batch {
			g.finish(w, results[i], nil)
		}
	case isLockWait(err) && g.sideline(batch):
	case isLockWait(err):
		// No lane is free. The committer finds a few blocked members itself, so that their neighbours
		// are not refused with them.
		stuck := batch
		if len(batch) > 1 {
			stuck = nil
			g.bisect(batch, &stuck, maxBlockedLanes)
		}
		for _, w := range stuck {
			refused := ErrBusy
			if w.doubt { // an earlier try may have been committed
				refused = ErrUnavailable
			}
			g.fail([]*waiting[M, R]{w}, fmt.Errorf("%w: too many batches wait for a lock: %w", refused, err))
		}
	case mayBeOfOne(err) && len(batch) > 1:
		half := len(batch) / 2
		g.commit(batch[:half])
		g.commit(batch[half:])
	case isBadData(err):
		g.fail(batch, err)
	default:
		g.fail(batch, fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
}

func (g *Group[M, R]) fail(batch []*waiting[M, R], err error) {
	var none R
	for _, w := range batch {
		g.finish(w, none, err)
	}
}

// transact commits the batch in one transaction. After a temporary fault or an unknown outcome it
// retries until the last member's time is over. The retry is safe because Run recognises its own
// rows. With GroupOptions.Uncertain, transact does not retry an unknown outcome. If tries is
// positive, transact returns a statement's temporary fault after that many tries, because one of
// the members may be the cause.
//
// transact never uses a submitter's context: cancelling a COMMIT loses its outcome.
func (g *Group[M, R]) transact(batch []*waiting[M, R], lockWait time.Duration, tries int) ([]R, error) {
	deadline := batch[0].deadline
	members := make([]M, len(batch))
	for i, w := range batch {
		members[i] = w.member
		if w.deadline.After(deadline) {
			deadline = w.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	settings := shared(lockWait)
	settings.used = g.used
	settings.confirm = slices.ContainsFunc(batch, func(w *waiting[M, R]) bool { return w.doubt })
	var results []R
	err := g.db.untilKnown(ctx, &settings, attempts{
		name: g.name,
		run: func(ctx context.Context, tx pgx.Tx) error {
			var err error
			results, err = g.opts.Run(ctx, tx, members)
			if err == nil && len(results) != len(members) {
				err = fmt.Errorf("%d results for %d members", len(results), len(members))
			}
			return err
		},
		again: func(err error) bool {
			if !isStatementOfMoment(err) {
				return isTransient(err) && !(g.opts.Uncertain && isAmbiguous(err))
			}
			tries--
			return tries != 0
		},
		doubt: func() {
			for _, w := range batch {
				w.doubt = true
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	return results, nil
}

// finish delivers the outcome of a member that a committer took.
func (g *Group[M, R]) finish(w *waiting[M, R], result R, err error) {
	m := w.member
	g.forget(w, err)
	g.mu.Lock()
	w.done <- outcome[R]{result: result, err: err}
	unheard := w.left && err == nil || w.doubt && err != nil
	g.mu.Unlock()
	if unheard {
		g.opts.Unheard(m)
	}
}

// forget releases the member of w when its outcome is known or its submitter gave up. The queue or
// a batch may still hold w itself.
func (g *Group[M, R]) forget(w *waiting[M, R], err error) {
	var none M
	m := w.member
	w.member = none
	g.opts.Release(m, err)
}

// Stop refuses new members. It waits until all earlier members are finished, or ctx is done.
func (g *Group[M, R]) Stop(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	if err := drain.Wait(ctx, &g.underway); err != nil {
		return errors.Join(fmt.Errorf("%s: commits are still in flight", g.name), err)
	}
	return nil
}
