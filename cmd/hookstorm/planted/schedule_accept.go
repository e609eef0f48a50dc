package planted

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// late is the failpoint at which a schedule delays the COMMIT of accepted events.
const late = "accept.before_commit"

// Each of these delays a COMMIT so long that, on a busy machine, other deliveries may arrive or be
// answered before it.
const (
	lateEnough = late + "=delay(2s)" // one other delivery
	later      = late + "=delay(4s)" // many deliveries, one of which must find the event in a cache
)

func accepting() []Case {
	return []Case{
		{Bug: bugs.AckBeforeCommit, Rules: []checker.Rule{"I1"}, run: steps{
			start("gateway", late+"=delay(600ms)"),
			acknowledge("gateway", "github", "acknowledged-early"),
			kill("gateway"),
			start("worker"),
		}.play},
		{Bug: bugs.SelectThenInsert, Rules: []checker.Rule{"I2"}, run: steps{
			start("serve", late+"=delay(180ms)"), // below lock_timeout, after which a transaction would start over
			twiceAtOnce,
		}.play},
		{Bug: bugs.JobOutsideTransaction, Rules: []checker.Rule{"I5"}, run: steps{
			start("serve", late+"=delay(600ms)"),
			acknowledge("serve", "github", "job-apart"),
		}.play},
		{Bug: bugs.DedupOwnTransaction, Rules: []checker.Rule{"I1"}, run: steps{
			start("gateway", "accept.events_inserted=kill"),
			delivers("gateway", "github", "dedup-apart", 1),
			start("serve"),
			delivers("serve", "github", "dedup-apart", 2),
		}.play},
		{Bug: bugs.BodyHashAsKey, Rules: []checker.Rule{"I1"}, run: steps{
			start("serve"),
			acknowledge("serve", "poison", "one-body-1", "one-body-2"),
		}.play},
		{Bug: bugs.CommitOnRequestContext, Rules: []checker.Rule{"I1"}, run: steps{
			start("serve", lateEnough),
			hangUpBesideNeighbour,
		}.play},
		{Bug: bugs.SafeToRetryBelieved, Rules: []checker.Rule{checker.RuleLinear}, run: steps{
			startBehindProxy("gateway"),
			// The gateway's other commit, which stores the address of its first sender, must
			// happen first.
			acknowledge("gateway", "github", "before"),
			sees("the address of the sender is noted", `SELECT FROM hooklatch.known_addresses`),
			// The gateway also commits its counters, but at least one of three lost responses
			// belongs to a delivery.
			loseAnswer("answer-lost-0"), loseAnswer("answer-lost-1"), loseAnswer("answer-lost-2"),
			start("worker"),
		}.play},
		{
			Bug: bugs.SynchronousCommitOff, Rules: []checker.Rule{"I1"}, run: steps{
				start("gateway"),
				loseByCrash,
				start("worker"),
			}.play,
			// With the bug, no session waits until its COMMIT is flushed. With these settings, the
			// WAL writer flushes the COMMIT only after seconds, and autovacuum does not flush it
			// earlier.
			settings: map[string]string{"wal_writer_delay": "10s", "autovacuum": "off", "max_connections": "100"},
		},
		{Bug: bugs.CacheFilledBeforeCommit, Rules: []checker.Rule{"I1"}, run: steps{
			start("gateway", later),
			knownEarly("gateway"),
			start("worker"),
		}.play},
		{Bug: bugs.SharedBeforeCommit, Rules: []checker.Rule{"I1"}, Redis: true, run: steps{
			shareRedis,
			start("gateway"), // gateway-1
			start("gateway", later),
			knownEarly("gateway-1"),
			start("worker"),
		}.play},
		{Bug: bugs.SharedWithoutLife, Rules: []checker.Rule{"I1"}, Redis: true, run: steps{
			shareRedis,
			startElsewhere("gateway"), // gateway-1
			start("gateway"),
			knownElsewhere("gateway-1"),
			start("worker"),
		}.play},
		{Bug: bugs.WindowOfADuplicate, Rules: []checker.Rule{"I1"}, run: steps{
			start("serve"),
			says("first", "one", 1), says("first", "two", 2), says("second", "two", 1),
		}.play},
	}
}

// loseByCrash delivers events and crashes the server, up to three times, until a crash has lost
// events. On a busy machine, the WAL writer may flush every COMMIT before the crash.
func loseByCrash(ctx context.Context, s *scene) error {
	for round := range 3 {
		if err := s.processes["gateway"].Ready(ctx); err != nil {
			return err
		}
		ids := numbered(fmt.Sprintf("before-the-crash-%d", round), 5)
		if err := (steps{acknowledge("gateway", "github", ids...), crashServer}).play(ctx, s); err != nil {
			return err
		}
		kept := 0
		if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = ANY ($1)`, ids).Scan(&kept); err != nil {
			return err
		}
		if kept < len(ids) {
			return nil
		}
	}
	return nil
}

// twiceAtOnce delivers up to ten events, each twice simultaneously, until both deliveries of one
// event are accepted. Both must look for the event before either commits it, which may take several
// rounds on a busy machine. The first round opens the gateway's connections to Postgres.
func twiceAtOnce(ctx context.Context, s *scene) error {
	for round := range 10 {
		// The source must have no replay guard, which would admit only one delivery at a time.
		e, err := s.event("stripe", fmt.Sprintf("evt_twice_at_once_%d", round))
		if err != nil {
			return err
		}
		var both sync.WaitGroup
		var answers [2]post.Outcome
		var errs [2]error
		for i := range answers {
			both.Go(func() { answers[i], errs[i] = s.deliver(ctx, s.processes["serve"], e, i+1) })
		}
		both.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		if answers[0].Result == "accepted" && answers[1].Result == "accepted" {
			return nil
		}
	}
	return nil
}

// hangUpBesideNeighbour lets up to four pairs of senders share a transaction, and makes the first
// sender of each pair hang up before the COMMIT. It ends as soon as an acknowledged event is not
// stored. On a busy machine a pair may arrive too late to share a transaction. The gateway may also
// notice the closed connection only after the COMMIT.
func hangUpBesideNeighbour(ctx context.Context, s *scene) error {
	for round := range 4 {
		neighbour, err := s.event("stripe", fmt.Sprintf("evt_neighbour_%d", round))
		if err != nil {
			return err
		}
		said, err := s.hangUpBeside(ctx, neighbour, round)
		if err != nil {
			return err
		}
		stored, err := s.holds(ctx, "SELECT FROM hooklatch.processed_events WHERE event_id = $1", neighbour.id)
		if err != nil || said.Acknowledged && !stored {
			return err
		}
	}
	return nil
}

// hangUpBeside makes a sender hang up while its event shares a transaction with the neighbour's
// event. It returns the response to the neighbour. Two other events keep both committers busy
// while the pair waits for a common batch.
func (s *scene) hangUpBeside(ctx context.Context, neighbour event, round int) (post.Outcome, error) {
	var failed error
	before := func(place string) int {
		n, err := passages(s.processes["serve"], place)
		failed = errors.Join(failed, err)
		return n
	}
	committed, verified := before(late), before("gateway.verified")
	if failed != nil {
		return post.Outcome{}, failed
	}
	var senders sync.WaitGroup
	var said post.Outcome
	hurried, hangUp := context.WithCancel(ctx)
	stop := func() { hangUp(); senders.Wait() }
	defer stop()
	sends := func(ctx context.Context, id string) func() {
		return func() { _ = delivers("serve", "stripe", fmt.Sprintf("%s_%d", id, round), 1)(ctx, s) } // the history contains the result
	}
	for i, step := range []struct {
		send  func()
		place string // failpoint to pass before the next step
		times int
	}{
		{sends(ctx, "evt_busy_1"), late, committed + 1},
		{sends(ctx, "evt_busy_2"), late, committed + 2},
		{sends(hurried, "evt_hangs_up"), "gateway.verified", verified + 3},
		{func() { said, _ = s.deliver(ctx, s.processes["serve"], neighbour, 1) }, late, committed + 3},
	} {
		senders.Go(step.send)
		err := passes("serve", step.place, step.times)(ctx, s)
		if err == nil && step.place != late {
			err = retry.Wait(ctx, 150*time.Millisecond) // no failpoint shows that the event is first in the batch
		}
		if err != nil {
			return post.Outcome{}, fmt.Errorf("sender %d: %w", i+1, err)
		}
	}
	stop()
	return said, nil
}

// loseAnswer returns a step that delivers an event and loses the response to the next COMMIT.
func loseAnswer(event string) step {
	return func(ctx context.Context, s *scene) error {
		lost, err := s.proxy.Arm(pgproxy.Fault{Kind: pgproxy.LoseAnswer, Count: 1})
		if err != nil {
			return err
		}
		if err := acknowledge("gateway", "github", event)(ctx, s); err != nil {
			return err
		}
		select {
		case <-lost.Done():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("lose the answer to a COMMIT: %w", context.Cause(ctx))
		}
	}
}

// says returns a step that delivers an event with a text to the source that deduplicates by body.
// The step fails if the gateway does not acknowledge the event.
func says(id, text string, attempt int) step {
	return func(ctx context.Context, s *scene) error {
		e, err := s.event("repeats", id)
		if err != nil {
			return err
		}
		e.body = fmt.Appendf(nil, `{"said":%q}`, text)
		return s.acknowledge(ctx, s.processes["serve"], e, attempt)
	}
}
