package planted

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/outbox"
)

func performing() []Case {
	answeredByAnError := steps{
		start("serve"),
		behave("app", receivers.ErrorBefore),
		acknowledge("serve", "github", "error-first"),
		isCalled("app", 1, true),
		behave("app", receivers.OK),
	}.play
	// The clocks of history and database agree only to within this time.
	apart := wait(250 * time.Millisecond)
	return []Case{
		{Bug: bugs.SettleWithoutFence, Rules: []checker.Rule{checker.RuleLedger}, run: steps{
			start("gateway"),
			behave("app", receivers.Refused),
			acknowledge("gateway", "github", "settled-late"),
			startToStop("worker", "effect.answered"),
			behave("app", receivers.OK),
			// The statement simulates an expired lease.
			changes(`UPDATE hooklatch.effects SET lease_until = now() - interval '1 second' WHERE state = 'started'`),
			copyJobs("effect", "app"),
			startToStop("worker", "effect.answered"),
			resumeProcess("worker-2"),
			passes("worker-2", "settle.after_commit", 1),
			resumeProcess("worker-3"),
		}.play},
		{Bug: bugs.NewKeyOnRetry, Rules: []checker.Rule{"I7"}, run: answeredByAnError},
		{Bug: bugs.DoneBeforeWork, Rules: []checker.Rule{"I6"}, run: answeredByAnError},
		{Bug: bugs.ExternalCallBeforeCommit, Rules: []checker.Rule{"I8"}, run: steps{
			start("serve", failingTransactions()...),
			acknowledge("serve", "stripe", numbered("evt_called_early", 4)...),
		}.play},
		{Bug: bugs.LeaseIgnored, Rules: []checker.Rule{"I8"}, run: steps{
			start("gateway"),
			start("worker", "effect.answered=stop@1"),
			pause("app", true), // the event also has an effect at app, and the response to it would stop the worker
			acknowledge("gateway", "stripe", "evt_at_work"),
			fires("worker", "effect.answered"),
			copyJobs("effect", "careful"),
			start("worker"),
			sees("the copy has been tried", query("copy_tried"), "careful"),
			resumeProcess("worker-2"),
			pause("app", false),
		}.play},
		{Bug: bugs.OrderLockDropped, Rules: []checker.Rule{"I5"}, run: steps{
			start("gateway"),
			acknowledge("gateway", "orders", "order-1", "order-2", "order-3"),
			start("worker", "settle.before_commit=delay(3s)"), // below the server's limit for idle transactions
			isCalled("ordered", 1, true),
			cancelSecond,
		}.play},
		{Bug: bugs.ProbePassesPause, Rules: []checker.Rule{checker.RulePause}, run: steps{
			start("serve", "begin_probe.after_commit=stop@1"),
			behave("app", receivers.Unauthorized),
			// Four events are too few for their first attempts and retries to open the breaker
			// before all events are acknowledged.
			acknowledge("serve", "github", numbered("turned-away", 4)...),
			fires("serve", "begin_probe.after_commit"),
			behave("app", receivers.OK),
			pause("app", true),
			apart,
			resumeProcess("serve"),
			sees("the probe has ended", `SELECT FROM hooklatch.destinations WHERE name = 'app' AND breaker_state <> 'half_open'`),
			apart,
			pause("app", false),
		}.play},
	}
}

// failingTransactions returns rules by which a process's first 16 claim transactions and its first
// 16 run_effect transactions fail. The failures reach the at_most_once effects too, because the
// retries of a single effect would need seconds to use up all 16.
func failingTransactions() (rules []string) {
	for n := range 16 {
		rules = append(rules, fmt.Sprintf("claim.before_commit=error@%d", n+1), fmt.Sprintf("run_effect.before_commit=error@%d", n+1))
	}
	return rules
}

// cancelSecond cancels the second effect of an order while the settlement of the first waits
// for its COMMIT.
func cancelSecond(ctx context.Context, s *scene) error {
	if err := sees("every event is dispatched", `SELECT FROM hooklatch.effects WHERE destination = 'ordered' HAVING count(*) = 3`)(ctx, s); err != nil {
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
	// The effect's row is locked until its settlement is committed. A session that has been
	// idle this long has already looked for the next effect, and has not sent its COMMIT.
	if err := sees("the first is settled, but for its COMMIT", `
SELECT
FROM pg_stat_activity
WHERE datname = current_database()
    AND state = 'idle in transaction'
    AND state_change < clock_timestamp() - interval '500 ms'
    AND NOT EXISTS (SELECT FROM (SELECT FROM hooklatch.effects WHERE idempotency_key = $1 FOR UPDATE SKIP LOCKED) AS free)
`, first)(ctx, s); err != nil {
		return err
	}
	return s.order(history.Order{Action: "cancel", Key: second}, func(o *outbox.Outbox) error { return o.Ledger().Cancel(ctx, second, person) })
}
