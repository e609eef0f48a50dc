package retention

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// actionRun is the operator action that allows a stopped run to continue.
const actionRun ledger.Action = "retention.run"

// stopped returns the due tasks that would go further in one run than they may without an
// operator's approval.
func (r *run) stopped() []*task {
	var stopped []*task
	for _, t := range r.tasks {
		if t.due() && t.tooFar() {
			stopped = append(stopped, t)
		}
	}
	return stopped
}

// stop records the tasks for which retention waits for an operator, and the start of the
// wait.
func (r *run) stop(ctx context.Context, stopped []*task) error {
	err := r.db.Do(ctx, "stop_retention", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := r.sql.StopProgress.With(markProgress{Marked: marks(stopped)}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("retention: record that it waits for an operator: %w", err)
	}
	return nil
}

// approve records how far an operator allows retention to go, in this run and later ones.
func (k *Keeper) approve(ctx context.Context, by ledger.Operator, stopped []*task) error {
	names := make([]string, len(stopped))
	for i, t := range stopped {
		names[i] = t.name()
	}
	what := ledger.Instruction{Action: actionRun, Target: strings.Join(names, ", ")}
	err := k.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		_, err := k.sql.ApproveProgress.With(markProgress{Marked: marks(stopped)}).Exec(ctx, tx)
		return ledger.Consequence{Result: "retention continues", Affected: int64(len(stopped))}, err
	})
	if err != nil {
		return fmt.Errorf("continue retention: %w", err)
	}
	return nil
}

func marks(tasks []*task) []mark {
	marked := make([]mark, len(tasks))
	for i, t := range tasks {
		marked[i] = mark{What: t.what, Source: t.source, Horizon: t.horizon, Before: t.before}
	}
	return marked
}
