package planted

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/outbox/retry"
)

func ackBeforeCommit(ctx context.Context, s *stage) error {
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

func selectThenInsert(ctx context.Context, s *stage) error {
	// Below lock_timeout: who waits for longer asks again.
	serve, err := s.start(ctx, "serve", "accept.before_commit=delay(180ms)")
	if err != nil {
		return err
	}
	// The first round opens the connections, so that in the others both ask at once.
	for round := range 4 {
		ids := []string{"evt_twice_at_once", "evt_twice_at_once"}
		if round == 0 {
			ids = []string{"evt_alone", "evt_on_its_own"}
		}
		var both sync.WaitGroup
		errs := make([]error, len(ids))
		for i, id := range ids {
			both.Go(func() {
				// Not of a source with a replay guard, which lets one in after the other.
				e, err := newEvent("stripe", fmt.Sprintf("%s_%d", id, round))
				if err == nil {
					_, err = s.deliver(ctx, serve, e, i+1)
				}
				errs[i] = err
			})
		}
		both.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func jobOutsideTransaction(ctx context.Context, s *stage) error {
	serve, err := s.start(ctx, "serve", "accept.before_commit=delay(600ms)")
	if err != nil {
		return err
	}
	return s.acknowledge(ctx, serve, "github", "job-apart")
}

func dedupOwnTransaction(ctx context.Context, s *stage) error {
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

func bodyHashAsKey(ctx context.Context, s *stage) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	return errors.Join(
		s.acknowledge(ctx, serve, "poison", "one-body-1"),
		s.acknowledge(ctx, serve, "poison", "one-body-2"),
	)
}

func commitOnRequestContext(ctx context.Context, s *stage) error {
	serve, err := s.start(ctx, "serve", "accept.before_commit=delay(500ms)")
	if err != nil {
		return err
	}
	var senders sync.WaitGroup
	defer senders.Wait()
	send := func(id string, patience time.Duration) {
		senders.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if e, err := newEvent("github", id); err == nil {
				_, _ = s.deliver(ctx, serve, e, 1) // the history says what came of it
			}
		})
	}
	// Two that keep both committers busy, while the others collect.
	send("busy-1", senderDeadline)
	send("busy-2", senderDeadline)
	if err := retry.Wait(ctx, 80*time.Millisecond); err != nil {
		return err
	}
	send("hangs-up", 700*time.Millisecond)
	if err := retry.Wait(ctx, 80*time.Millisecond); err != nil {
		return err
	}
	send("neighbour", senderDeadline)
	return nil
}

func safeToRetryBelieved(ctx context.Context, s *stage) error {
	gateway, err := s.startBehindProxy(ctx, "gateway")
	if err != nil {
		return err
	}
	lost, err := s.proxy.Arm(pgproxy.Fault{Kind: pgproxy.LoseAnswer, Count: 1})
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, gateway, "github", "answer-lost"); err != nil {
		return err
	}
	select {
	case <-lost.Done():
	case <-ctx.Done():
		return fmt.Errorf("lose the answer to a COMMIT: %w", context.Cause(ctx))
	}
	_, err = s.start(ctx, "worker")
	return err
}

func synchronousCommitOff(ctx context.Context, s *stage) error {
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
