package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Server is what tells a server from another. Zero is what it does not say.
type Server struct {
	SystemID int64 `json:"system_id,string"` // too large for numbers in JSON
	Timeline int   `json:"timeline"`
}

func (s Server) String() string { return fmt.Sprintf("system %d, timeline %d", s.SystemID, s.Timeline) }

// State says on which server the database is, and what people said of it.
type State struct {
	Known Server `json:"known"` // on this one it is known what was done
	Here  Server `json:"here"`
	// Withheld is true while no at_most_once effect starts, because nobody has spoken of
	// this server.
	Withheld   bool      `json:"withheld"`
	Epoch      int64     `json:"epoch"` // counts the servers, and what people said
	ChangedAt  time.Time `json:"changed_at,omitzero"`
	RestoredTo time.Time `json:"restored_to,omitzero"` // the last time anybody said so
	RestoredAt time.Time `json:"restored_at,omitzero"` // when it was said
	// Processes are those that were seen on this server in the last minute.
	Processes int `json:"processes"`
}

// State asks the server. Its cost is that of a look-up.
func (r *Repairer) State(ctx context.Context) (State, error) {
	var s State
	var changed, to, at *time.Time
	err := r.opts.DB.Statement("state_of_server", func(db pipeline.ByIndex) error {
		return r.sql.State.QueryRow(ctx, db).Scan(&s.Known.SystemID, &s.Known.Timeline, &s.Here.SystemID, &s.Here.Timeline,
			&s.Withheld, &s.Epoch, &changed, &to, &at, &s.Processes)
	})
	if err != nil {
		return State{}, fmt.Errorf("ask which server this is: %w", err)
	}
	s.ChangedAt, s.RestoredTo, s.RestoredAt = column.OrZero(changed), column.OrZero(to), column.OrZero(at)
	return s, nil
}

// Promoted says that nothing is missing on this server: it was a standby that had
// everything, or all of it was moved here. What was withheld starts. Errors:
// commit.ErrUnavailable.
func (r *Repairer) Promoted(ctx context.Context, by ledger.Operator) error {
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	if err := r.adopt(ctx, ActionPromoted, state.Here, time.Time{}, ordered(by, "")); err != nil {
		return fmt.Errorf("take this server for the one that is known: %w", err)
	}
	return nil
}

// adopt makes the server the one that is known. Repeated, it does no harm.
func (r *Repairer) adopt(ctx context.Context, action ledger.Action, here Server, restoredTo time.Time, by ledger.Operator) error {
	what := ledger.Instruction{Action: action, Target: here.String()}
	if !restoredTo.IsZero() {
		what.Filter = struct {
			RestoredTo time.Time `json:"restored_to"`
		}{restoredTo}
	}
	return r.opts.Ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		tag, err := r.sql.Adopt.With(adopt{RestoredTo: column.TimeOrNull(restoredTo)}).Exec(ctx, tx)
		return ledger.Consequence{Result: "known", Affected: tag.RowsAffected()}, err
	})
}

// FollowPromotion does what Promoted does without a person, where commits wait for the
// standby: one that was promoted lacks nothing. A server with another system identifier
// is no such standby, nor is one whose timeline is not a later one. It reports whether
// there was something to do. Errors: commit.ErrUnavailable.
func (r *Repairer) FollowPromotion(ctx context.Context) (bool, error) {
	state, err := r.State(ctx)
	if err != nil || !state.Withheld || state.Known.SystemID != state.Here.SystemID || state.Known.Timeline >= state.Here.Timeline {
		return false, err
	}
	err = r.opts.DB.Do(ctx, "follow_promotion", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := r.sql.FollowPromotion.Exec(ctx, tx) // by another process, or an earlier try
		return err
	})
	if err != nil {
		return false, fmt.Errorf("follow the promotion of a standby: %w", err)
	}
	return true, nil
}
