package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Server identifies a database server. A field is zero if it is unknown.
type Server struct {
	SystemID int64 `json:"system_id,string"` // too large for numbers in JSON
	Timeline int   `json:"timeline"`
}

// String returns the server's identity for operators.
func (s Server) String() string { return fmt.Sprintf("system %d, timeline %d", s.SystemID, s.Timeline) }

// State describes the database's server, and the operators' declarations about it.
type State struct {
	Known Server `json:"known"` // the confirmed server, whose database is complete
	Here  Server `json:"here"`
	// Withheld is true while no at_most_once effect starts, because no operator has confirmed
	// this server.
	Withheld   bool      `json:"withheld"`
	Epoch      int64     `json:"epoch"` // increases with each declaration and each followed promotion
	ChangedAt  time.Time `json:"changed_at,omitzero"`
	RestoredTo time.Time `json:"restored_to,omitzero"` // time from the latest declaration of a restore
	RestoredAt time.Time `json:"restored_at,omitzero"` // time of that declaration
	// Processes is the number of processes seen on this server in the last minute.
	Processes int `json:"processes"`
}

// State returns the state of the database's server. It costs one statement.
func (r *Repairer) State(ctx context.Context) (State, error) {
	var s State
	var changed, to, at *time.Time
	err := r.opts.DB.Statement("state_of_server", func(db pipeline.ByIndex) error {
		return r.sql.State.QueryRow(ctx, db).Scan(&s.Known.SystemID, &s.Known.Timeline, &s.Here.SystemID, &s.Here.Timeline,
			&s.Withheld, &s.Epoch, &changed, &to, &at, &s.Processes)
	})
	if err != nil {
		return State{}, fmt.Errorf("read the identity of the server: %w", err)
	}
	s.ChangedAt, s.RestoredTo, s.RestoredAt = column.OrZero(changed), column.OrZero(to), column.OrZero(at)
	return s, nil
}

// Promoted declares that nothing is missing on this server: it was an up-to-date standby, or
// everything was moved to it. Withheld effects then start, and sequences continue after the stored
// rows. Errors: commit.ErrUnavailable.
func (r *Repairer) Promoted(ctx context.Context, by ledger.Operator) error {
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	if err := r.adopt(ctx, ActionPromoted, state, time.Time{}, ordered(by, "")); err != nil {
		return fmt.Errorf("confirm this server: %w", err)
	}
	return nil
}

// adopt makes the server the known server. It may be repeated.
func (r *Repairer) adopt(ctx context.Context, action ledger.Action, state State, restoredTo time.Time, by ledger.Operator) error {
	behind, err := r.sequences(ctx, state)
	if err != nil {
		return fmt.Errorf("read sequences: %w", err)
	}
	what := ledger.Instruction{Action: action, Target: state.Here.String()}
	if !restoredTo.IsZero() {
		what.Filter = struct {
			RestoredTo time.Time `json:"restored_to"`
		}{restoredTo}
	}
	return r.opts.Ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		if err := r.setSequences(ctx, tx, behind); err != nil {
			return ledger.Consequence{}, err
		}
		tag, err := r.sql.Adopt.With(adopt{RestoredTo: column.TimeOrNull(restoredTo)}).Exec(ctx, tx)
		return ledger.Consequence{Result: "known", Affected: tag.RowsAffected()}, err
	})
}

// FollowPromotion confirms a promoted standby without an operator. It is for databases whose
// commits wait for the standby: a promoted standby lacks nothing. A promoted standby has the system
// identifier of the known server and a later timeline. FollowPromotion reports whether a promotion
// was recorded, by this process or by another one meanwhile. Errors: commit.ErrUnavailable.
func (r *Repairer) FollowPromotion(ctx context.Context) (bool, error) {
	state, err := r.State(ctx)
	if err != nil || !state.Withheld || state.Known.SystemID != state.Here.SystemID || state.Known.Timeline >= state.Here.Timeline {
		return false, err
	}
	err = r.opts.DB.Do(ctx, "follow_promotion", commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := r.sql.FollowPromotion.Exec(ctx, tx) // another process, or an earlier try, may have recorded it
		return err
	})
	if err != nil {
		return false, fmt.Errorf("follow the promotion of a standby: %w", err)
	}
	return true, nil
}
