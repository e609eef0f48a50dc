package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
)

// OperatorAction is one row of the operator log.
type OperatorAction struct {
	Operator

	ID       int64           `json:"id"`
	At       time.Time       `json:"at"`
	Action   Action          `json:"action"`
	Target   string          `json:"target"` // name of the target, such as source/event_id or run 7, or a description of a selection
	Filter   json.RawMessage `json:"filter"` // the selection of targets; {} if one was named
	Result   string          `json:"result,omitzero"`
	Affected int64           `json:"affected"`     // number of changed targets, such as effects or events
	Run      int64           `json:"run,omitzero"` // bulk run that the action started or concerned. 0: none
}

// OperatorLog lists operator actions since a time, newest first. It returns at most limit actions,
// or 50 if limit is 0. A zero since sets no bound. With targets, it lists only the actions on these
// targets.
func (l *Ledger) OperatorLog(ctx context.Context, since time.Time, limit int, targets ...string) ([]OperatorAction, error) {
	rows, err := l.sql.OperatorLog.With(operatorLog{Since: column.TimeOrNull(since), Targets: targets, Limit: column.Limit(limit)}).Query(ctx, pipeline.ByIndex{Sender: l.read, InOrder: true})
	if err != nil {
		return nil, fmt.Errorf("read operator log: %w", err)
	}
	actions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (OperatorAction, error) {
		var a OperatorAction
		err := row.Scan(&a.ID, &a.At, &a.Who, &a.Role, &a.Via, &a.Action, &a.Target, &a.Filter, &a.Reason, &a.Result, &a.Affected, &a.RequestID, &a.Run)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("read operator log: %w", err)
	}
	return actions, nil
}
