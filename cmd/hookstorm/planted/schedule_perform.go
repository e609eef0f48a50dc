package planted

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/outbox/retry"
)

func settleWithoutFence(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.Refused)
	if err := s.acknowledge(ctx, gateway, "github", "settled-late"); err != nil {
		return err
	}
	stopped, err := s.startToStop(ctx, "worker", "effect.answered")
	if err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.OK)
	if err := s.endLeases(ctx); err != nil {
		return err
	}
	if err := s.copyJobs(ctx, "effect", "app"); err != nil {
		return err
	}
	next, err := s.startToStop(ctx, "worker", "effect.answered")
	if err != nil {
		return err
	}
	if err := stopped.Continue(); err != nil {
		return err
	}
	if err := s.passes(ctx, stopped, "settle.after_commit", 1); err != nil {
		return err
	}
	return next.Continue()
}

func answeredByAnError(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.ErrorBefore)
	if err := s.acknowledge(ctx, serve, "github", "error-first"); err != nil {
		return err
	}
	if err := s.isCalled(ctx, "app", 1, true); err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.OK)
	return nil
}

// externalCallBeforeCommit fails so many transactions that the at_most_once effects are
// among them: an effect that fails again and again would need seconds to use them up.
func externalCallBeforeCommit(ctx context.Context, s *scene) error {
	var rules []string
	for n := range 16 {
		rules = append(rules, fmt.Sprintf("claim.before_commit=error@%d", n+1), fmt.Sprintf("run_effect.before_commit=error@%d", n+1))
	}
	serve, err := s.start(ctx, "serve", rules...)
	if err != nil {
		return err
	}
	for n := range 4 {
		if err := s.acknowledge(ctx, serve, "stripe", fmt.Sprintf("evt_called_early_%d", n)); err != nil {
			return err
		}
	}
	return nil
}

func leaseIgnored(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve")
	if err != nil {
		return err
	}
	s.receivers.Behave("careful", receivers.Slow)
	if err := s.acknowledge(ctx, serve, "stripe", "evt_at_work"); err != nil {
		return err
	}
	if err := s.isCalled(ctx, "careful", 1, false); err != nil {
		return err
	}
	return s.copyJobs(ctx, "effect", "careful")
}

func orderLockDropped(ctx context.Context, s *scene) error {
	gateway, err := s.start(ctx, "gateway")
	if err != nil {
		return err
	}
	for _, id := range []string{"order-1", "order-2", "order-3"} {
		if err := s.acknowledge(ctx, gateway, "orders", id); err != nil {
			return err
		}
	}
	if _, err := s.start(ctx, "worker", "settle.before_commit=delay(2s)"); err != nil {
		return err
	}
	if err := s.isCalled(ctx, "ordered", 1, true); err != nil {
		return err
	}
	const inOrder = `FROM hooklatch.effects WHERE destination = 'ordered' ORDER BY accept_seq`
	var first, second string
	if err := s.pool.QueryRow(ctx, `SELECT idempotency_key `+inOrder+` LIMIT 1`).Scan(&first); err != nil {
		return err
	}
	if err := s.pool.QueryRow(ctx, `SELECT idempotency_key `+inOrder+` OFFSET 1 LIMIT 1`).Scan(&second); err != nil {
		return err
	}
	// Its row is locked as long as its settlement is not committed. A session that has
	// asked nothing for so long is past the look at who is next, and before its COMMIT.
	if err := s.sees(ctx, "the first is settled, but for its COMMIT", `
SELECT
FROM pg_stat_activity
WHERE datname = current_database()
    AND state = 'idle in transaction'
    AND state_change < clock_timestamp() - interval '500 ms'
    AND NOT EXISTS (SELECT FROM (SELECT FROM hooklatch.effects WHERE idempotency_key = $1 FOR UPDATE SKIP LOCKED) AS free)
`, first); err != nil {
		return err
	}
	return s.cancel(ctx, second)
}

func probePassesPause(ctx context.Context, s *scene) error {
	serve, err := s.start(ctx, "serve", "begin_probe.after_commit=stop@1")
	if err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.Unauthorized)
	for n := range 12 {
		if err := s.acknowledge(ctx, serve, "github", fmt.Sprintf("turned-away-%d", n)); err != nil {
			return err
		}
	}
	if err := s.fires(ctx, serve, "begin_probe.after_commit"); err != nil {
		return err
	}
	s.receivers.Behave("app", receivers.OK)
	if err := s.pause(ctx, "app", true); err != nil {
		return err
	}
	// Nearer than that the clocks of history and database do not agree.
	const apart = 250 * time.Millisecond
	if err := retry.Wait(ctx, apart); err != nil {
		return err
	}
	if err := serve.Continue(); err != nil {
		return err
	}
	if err := s.sees(ctx, "the probe has ended", `SELECT FROM hooklatch.destinations WHERE name = 'app' AND breaker_state <> 'half_open'`); err != nil {
		return err
	}
	if err := retry.Wait(ctx, apart); err != nil {
		return err
	}
	return s.pause(ctx, "app", false)
}
