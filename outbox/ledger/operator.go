package ledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Operator is the person who orders an action. Whatever a person orders is
// recorded in the operator log, in the transaction that does it.
type Operator struct {
	// Who is the person's name: 1 to 255 bytes.
	Who string `json:"who"`
	// Role is what the person may do, where that is managed. It may be empty.
	Role string `json:"role,omitzero"`
	// Via is the way the order came: "cli", "console", "api", or the name of a
	// program.
	Via string `json:"via"`
	// Reason is why, in the person's words. It may be empty.
	Reason string `json:"reason,omitzero"`
	// RequestID names the order: the rows of one order share it, and a try after
	// a lost COMMIT answer recognises its own row by it. Empty: one is made.
	RequestID string `json:"request_id"`
}

const (
	maxWhoLen  = 255
	maxRoleLen = 64
)

// Validate says what keeps an order of this person from being recorded.
func (by Operator) Validate() error {
	if err := column.ValidateKey(by.Who, maxWhoLen); err != nil {
		return fmt.Errorf("the operator's name %w", err)
	}
	if err := column.ValidateKey(by.Via, maxRoleLen); err != nil {
		return fmt.Errorf("the operator's way %w", err)
	}
	if by.Role != "" {
		if err := column.ValidateKey(by.Role, maxRoleLen); err != nil {
			return fmt.Errorf("the operator's role %w", err)
		}
	}
	if by.RequestID != "" {
		if err := column.ValidateKey(by.RequestID, maxKeyLen); err != nil {
			return fmt.Errorf("the operator's request id %w", err)
		}
	}
	return nil
}

// did is the sentence the ledger keeps: "retried by alice: it was the wrong URL".
func (by Operator) did(what string) string { return column.Done(what, by.Who, by.Reason) }

// Action is what a person can order.
type Action string

// The actions.
const (
	ActionRetryEffect       Action = "effect.retry"
	ActionCancelEffect      Action = "effect.cancel"
	ActionParkEffect        Action = "effect.park"
	ActionReplayEvent       Action = "event.replay"
	ActionReleaseEvent      Action = "event.release"
	ActionDropEvent         Action = "event.drop"
	ActionImportKeys        Action = "keys.import"
	ActionPauseDestination  Action = "destination.pause"
	ActionResumeDestination Action = "destination.resume"
	ActionRetireDestination Action = "destination.retire"
)

// Instruction is one action on one target, for the operator log.
type Instruction struct {
	Action Action
	Target string
	Filter any // encoded as JSON; nil when the target was named
	// Run is the run that the action is about. 0: none.
	Run int64
}

// Consequence is what came of it.
type Consequence struct {
	Result   string
	Affected int64
	// Run is the run that the action began. 0: none.
	Run int64
}

// Act runs what by ordered and records both in one transaction, tried again as
// transact does. A try that finds an earlier one committed does nothing, so f
// never runs after its own effects: it keeps what it found out only once it
// returns nil.
func (l *Ledger) Act(ctx context.Context, by Operator, what Instruction, f func(ctx context.Context, tx pgx.Tx) (Consequence, error)) error {
	if err := by.Validate(); err != nil {
		return err
	}
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	return l.db.Do(ctx, commit.Name(what.Action), commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if _, err := l.sql.LockRequest.With(lockRequest{RequestID: by.RequestID}).Exec(ctx, tx); err != nil {
			return fmt.Errorf("lock request: %w", err)
		}
		if repeated {
			var committed bool
			did := operatorDid{RequestID: by.RequestID, Action: what.Action, Target: what.Target}
			if err := l.sql.OperatorDid.With(did).QueryRow(ctx, tx).Scan(&committed); err != nil {
				return fmt.Errorf("look up action: %w", err)
			}
			if committed {
				return nil
			}
		}
		came, err := f(ctx, tx)
		if err != nil {
			return err
		}
		return l.LogTx(ctx, tx, by, what, came)
	})
}

// LogTx writes the row of the operator log, in the transaction of the action.
func (l *Ledger) LogTx(ctx context.Context, tx pgx.Tx, by Operator, what Instruction, came Consequence) error {
	filter := what.Filter
	if filter == nil {
		filter = struct{}{}
	}
	if _, err := l.sql.LogOperator.With(logOperator{
		Who: by.Who, Role: by.Role, Via: by.Via, Reason: column.Reason(by.Reason), RequestID: by.RequestID,
		Action: what.Action, Target: what.Target, Filter: filter, Result: column.Reason(came.Result), Affected: came.Affected, RunID: column.NumberOrNull(cmp.Or(came.Run, what.Run)),
	}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("record action: %w", err)
	}
	return nil
}
