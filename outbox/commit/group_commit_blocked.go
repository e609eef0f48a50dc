package commit

import (
	"fmt"
	"slices"
	"time"
)

const (
	// maxBlockedLanes limits the sidelined batches that a Group works on at the same time. Each
	// lane uses one connection, in addition to the committers' connections.
	maxBlockedLanes = 4
	// probeLockTimeout is the time that a part of a sidelined batch waits for a lock while the
	// blocked members are identified.
	probeLockTimeout = 20 * time.Millisecond
)

// sideline moves a batch away from its committer, after the batch waited too long for another
// transaction's lock or met repeated temporary faults. A lane finds the blocked members by
// bisection, commits the others, and retries each blocked member until it is committed or its time is
// over. sideline reports whether a lane was free.
func (g *Group[M, R]) sideline(batch []*waiting[M, R]) bool {
	select {
	case g.blocked <- struct{}{}:
	default:
		return false
	}
	g.underway.Go(func() {
		defer func() { <-g.blocked }()
		var stuck []*waiting[M, R]
		g.bisect(batch, &stuck, len(batch))
		for len(stuck) > 0 {
			stuck = slices.DeleteFunc(stuck, g.tried)
		}
	})
	return true
}

// bisect commits the members that can be committed now and collects the blocked members in stuck.
// The parameter most limits the search: once stuck has that many members, bisect adds all others
// without trying them.
func (g *Group[M, R]) bisect(batch []*waiting[M, R], stuck *[]*waiting[M, R], most int) {
	if len(*stuck) >= most {
		*stuck = append(*stuck, batch...)
		return
	}
	results, err := g.transact(batch, probeLockTimeout, 1)
	waits := isLockWait(err) || isStatementOfMoment(err)
	switch {
	case err == nil:
		for i, w := range batch {
			g.finish(w, results[i], nil)
		}
	case (waits || mayBeOfOne(err)) && len(batch) > 1:
		half := len(batch) / 2
		g.bisect(batch[:half], stuck, most)
		g.bisect(batch[half:], stuck, most)
	case waits:
		*stuck = append(*stuck, batch[0])
	case isBadData(err):
		g.fail(batch, err)
	default:
		g.fail(batch, fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
}

// tried tries one blocked member, and reports whether it is finished. A member that still waits for
// a lock is left for the next round, unless its time is over. Each blocked member thus gets its
// turn.
func (g *Group[M, R]) tried(w *waiting[M, R]) bool {
	one := []*waiting[M, R]{w}
	results, err := g.transact(one, lockTimeout, 0)
	switch {
	case err == nil:
		g.finish(w, results[0], nil)
	case isLockWait(err) && time.Now().Before(w.deadline):
		return false
	case isBadData(err):
		g.fail(one, err)
	default:
		g.fail(one, fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	return true
}
