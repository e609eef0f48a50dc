package planted

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
)

func ackBeforeCommit(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway", "accept.before_commit=delay(600ms)")
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, "github", "acknowledged-early"); err != nil {
		return err
	}
	if err := gateway.Kill(); err != nil {
		return err
	}
	_, err = s.start(ctx, "worker")
	return err
}

func selectThenInsert(ctx context.Context, s *scene) error {
	// Below lock_timeout: who waits for longer asks again.
	serve, err := s.start(ctx, "serve", "accept.before_commit=delay(180ms)")
	if err != nil {
		return err
	}
	// Both must have asked before either commits, which takes some rounds where the
	// machine is busy; the first opens the connections.
	for round := range 10 {
		// Not of a source with a replay guard, which lets one in after the other.
		e, err := newEvent("stripe", fmt.Sprintf("evt_twice_at_once_%d", round))
		if err != nil {
			return err
		}
		var both sync.WaitGroup
		var answers [2]post.Outcome
		var errs [2]error
		for i := range answers {
			both.Go(func() { answers[i], errs[i] = s.deliver(ctx, serve, e, i+1) })
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

func jobOutsideTransaction(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve", "accept.before_commit=delay(600ms)")
	if err != nil {
		return err
	}
	return s.acknowledge(ctx, serve, "github", "job-apart")
}

func dedupOwnTransaction(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway", "accept.events_inserted=kill")
	if err != nil {
		return err
	}
	e, err := newEvent("github", "dedup-apart")
	if err != nil {
		return err
	}
	if _, err := s.deliver(ctx, gateway, e, 1); err != nil {
		return err
	}
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	_, err = s.deliver(ctx, serve, e, 2)
	return err
}

func bodyHashAsKey(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	return errors.Join(
		s.acknowledge(ctx, serve, "poison", "one-body-1"),
		s.acknowledge(ctx, serve, "poison", "one-body-2"),
	)
}

func commitOnRequestContext(ctx context.Context, s *scene) error {
	// The first two keep both committers busy, while the others collect. All times
	// of a delivery together stay below accept_timeout, 2 s.
	serve, err := s.start(ctx, "serve",
		"accept.before_commit=delay(900ms)@1", "accept.before_commit=delay(900ms)@2", "accept.before_commit=delay(600ms)@3+")
	if err != nil {
		return err
	}
	var senders sync.WaitGroup
	defer senders.Wait()
	send := func(ctx context.Context, id string) {
		senders.Go(func() {
			if e, err := newEvent("stripe", id); err == nil {
				_, _ = s.deliver(ctx, serve, e, 1) // the history says what came of it
			}
		})
	}
	const late = "accept.before_commit"
	hurried, hangUp := context.WithCancel(ctx)
	defer hangUp()
	for i, step := range []struct {
		ctx   context.Context //nolint:containedctx // of one sender
		id    string
		place string // that is passed before the next step
		times int
	}{
		{ctx, "evt_busy_1", late, 1},
		{ctx, "evt_busy_2", late, 2},
		{hurried, "evt_hangs_up", "gateway.verified", 3},
		{ctx, "evt_neighbour", late, 3},
	} {
		send(step.ctx, step.id)
		if err := s.passes(ctx, serve, step.place, step.times); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil // and the first of the two hangs up
}

func safeToRetryBelieved(ctx context.Context, s *scene) error {
	gateway, err := s.startBehindProxy(ctx, "gateway")
	if err != nil {
		return err
	}
	// What else a gateway commits comes before: where its first delivery came from.
	if err := s.acknowledge(ctx, gateway, "github", "before"); err != nil {
		return err
	}
	if err := s.sees(ctx, "the address of the sender is noted", `SELECT FROM hooklatch.known_addresses`); err != nil {
		return err
	}
	// A gateway also commits what it counted: three times in a row that is not what comes
	// first.
	for n := range 3 {
		if err := s.loseAnswer(ctx, gateway, fmt.Sprintf("answer-lost-%d", n)); err != nil {
			return err
		}
	}
	_, err = s.start(ctx, "worker")
	return err
}

// loseAnswer delivers an event while the answer to the next COMMIT is to be lost.
func (s *scene) loseAnswer(ctx context.Context, gateway *process, event string) error {
	lost, err := s.proxy.Arm(pgproxy.Fault{Kind: pgproxy.LoseAnswer, Count: 1})
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, "github", event); err != nil {
		return err
	}
	select {
	case <-lost.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lose the answer to a COMMIT: %w", context.Cause(ctx))
	}
}

func synchronousCommitOff(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	for n := range 5 {
		if err := s.acknowledge(ctx, gateway, "github", fmt.Sprintf("before-the-crash-%d", n)); err != nil {
			return err
		}
	}
	if err := s.crashServer(ctx); err != nil {
		return err
	}
	_, err = s.start(ctx, "worker")
	return err
}

func cacheFilledBeforeCommit(ctx context.Context, s *scene) error {
	const late = "accept.before_commit=delay(800ms)"
	gateway, err := s.start(ctx, "gateway", late)
	if err != nil {
		return err
	}
	storm, err := newEvent("stripe", "evt_storm")
	if err != nil {
		return err
	}
	// Duplicates of another event keep the cache in use: the database has just said
	// that it is the same.
	for round := range 10 {
		for range 3 {
			if _, err := s.deliver(ctx, gateway, storm, 1); err != nil {
				return err
			}
		}
		e, err := newEvent("stripe", fmt.Sprintf("evt_known_early_%d", round))
		if err != nil {
			return err
		}
		known, err := s.comesAgain(ctx, gateway, e)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		committed, err := s.holds(ctx, "SELECT FROM hooklatch.processed_events WHERE event_id = $1", e.id)
		if err != nil {
			return err
		}
		if !committed {
			break
		}
		// On a busy machine the gateway may die after its COMMIT: that proves nothing.
		if gateway, err = s.start(ctx, "gateway", late); err != nil {
			return err
		}
	}
	_, err = s.start(ctx, "worker")
	return err
}

// comesAgain delivers an event whose COMMIT is late, and delivers it again until
// that is answered. When it is a duplicate before the first delivery has an answer,
// the gateway is killed.
func (s *scene) comesAgain(ctx context.Context, to *process, e event) (early bool, err error) {
	first := make(chan error, 1)
	go func() {
		_, err := s.deliver(ctx, to, e, 1)
		first <- err
	}()
	const waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
	if err := s.sees(ctx, "a transaction waits to be committed", waits); err != nil {
		return false, err
	}
	again, err := s.deliver(ctx, to, e, 2)
	select {
	case answered := <-first:
		return false, errors.Join(err, answered)
	default:
		early = again.Acknowledged
	}
	if early {
		err = errors.Join(err, to.Kill())
	}
	return early, errors.Join(err, <-first)
}

func windowOfADuplicate(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	for i, one := range []struct{ id, body string }{{"first", `{"said":"one"}`}, {"first", `{"said":"two"}`}, {"second", `{"said":"two"}`}} {
		e, err := newEvent("repeats", one.id)
		if err != nil {
			return err
		}
		e.body = []byte(one.body)
		said, err := s.deliver(ctx, serve, e, 1+i%2)
		if err != nil {
			return err
		}
		if !said.Acknowledged {
			return fmt.Errorf("%s did not acknowledge %s\n%s", serve.Name(), one.id, serve.LastLines())
		}
	}
	return nil
}
