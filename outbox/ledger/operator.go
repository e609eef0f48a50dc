package ledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

// Operator identifies the user who requested an action. The operator log records every action, in
// the transaction that performs it.
type Operator struct {
	// Who is the operator's name: 1 to 255 bytes.
	Who string `json:"who"`
	// Role is the operator's role, if roles are managed. It may be empty.
	Role string `json:"role,omitzero"`
	// Via is the channel of the action: "cli", "console", "api", or the name of a program.
	Via string `json:"via"`
	// Reason is the operator's reason. It may be empty.
	Reason string `json:"reason,omitzero"`
	// RequestID identifies the request. All rows of one request share it. A request that is repeated
	// with the same id does not apply the same action to the same target again. Empty: one is
	// generated.
	RequestID string `json:"request_id"`
}

const (
	maxWhoLen  = 255
	maxRoleLen = 64
)

// Validate returns an error if an action of this operator cannot be recorded.
func (by Operator) Validate() error {
	if err := column.ValidateKey(by.Who, maxWhoLen); err != nil {
		return fmt.Errorf("the operator's name %w", err)
	}
	if err := column.ValidateKey(by.Via, maxRoleLen); err != nil {
		return fmt.Errorf("the operator's channel %w", err)
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

// did returns the text that the ledger stores as the error of the changed effects, such as "retried
// by alice: it was the wrong URL".
func (by Operator) did(what string) string { return column.Done(what, by.Who, by.Reason) }

// Action is a kind of operator action.
type Action string

// The actions.
const (
	ActionRetryEffect       Action = "effect.retry"
	ActionCancelEffect      Action = "effect.cancel"
	ActionParkEffect        Action = "effect.park"
	ActionResendEffect      Action = "effect.resend"
	ActionReplayEvent       Action = "event.replay"
	ActionReleaseEvent      Action = "event.release"
	ActionDropEvent         Action = "event.drop"
	ActionImportKeys        Action = "keys.import"
	ActionMoveSource        Action = "source.move"
	ActionPauseDestination  Action = "destination.pause"
	ActionResumeDestination Action = "destination.resume"
	ActionRetireDestination Action = "destination.retire"
)

// Instruction is one action on one target, as recorded in the operator log.
type Instruction struct {
	Action Action
	Target string
	Filter any // encoded as JSON; nil if the target was named
	// Run is the bulk run that the action concerns. 0: none.
	Run int64
}

// Consequence is the result of an action.
type Consequence struct {
	Result   string
	Affected int64
	// Run is the bulk run that the action started. 0: none.
	Run int64
}

// Act runs f, which performs the action, and records the action and its operator in the same
// transaction. The transaction is retried until its outcome is known. A retry that finds an earlier
// try committed does not run f again. Neither does a call that repeats the RequestID, action and
// target of an earlier one. f must therefore set variables of its caller only when it returns nil.
func (l *Ledger) Act(ctx context.Context, by Operator, what Instruction, f func(ctx context.Context, tx pgx.Tx) (Consequence, error)) error {
	if err := by.Validate(); err != nil {
		return err
	}
	known := by.RequestID != "" // by the caller, who may have sent it before
	if !known {
		by.RequestID = uuid.NewString()
	}
	return l.db.Do(ctx, commit.Name(what.Action), commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if _, err := l.sql.LockRequest.With(lockRequest{RequestID: by.RequestID}).Exec(ctx, tx); err != nil {
			return fmt.Errorf("lock request: %w", err)
		}
		if repeated || known {
			var committed bool
			did := operatorDid{RequestID: by.RequestID, Action: what.Action, Target: what.Target}
			if err := l.sql.OperatorDid.With(did).QueryRow(ctx, tx).Scan(&committed); err != nil {
				return fmt.Errorf("look up action: %w", err)
			}
			if committed {
				if _, err := l.sql.WaitForStandby.Exec(ctx, tx); err != nil {
					return fmt.Errorf("wait for standby: %w", err)
				}
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

// LogTx inserts the row of an action into the operator log, in the transaction that performs the
// action.
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
