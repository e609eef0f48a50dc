package moves

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// pageRows is the number of rows in a page, which is copied in one transaction. A page of
	// effects may have more.
	pageRows = 1000
	// fenceFor is the time after which a fence ends by itself. If the move is interrupted, the
	// gateway answers the source's senders with 503 for no longer than that.
	fenceFor = 8 * time.Second
	// fencedFor is the time within which the move must be completed under a fence. It is shorter
	// than fenceFor, because the source can leave only while the fence lasts.
	fencedFor = 6 * time.Second
	// tableTimeout limits adding or dropping a table's triggers, which waits for running
	// transactions.
	tableTimeout = 5 * time.Minute
)

// Side is one of the two cells of a Move.
type Side struct {
	Cell string
	*Moves
}

// Move moves a source from one cell to another. It can be interrupted at any time: the next Run
// continues it.
type Move struct {
	Source   identity.Source
	From, To Side
	By       ledger.Operator
	// Tell receives each step. It may be nil.
	Tell func(Step)
}

// Step is the progress of a move.
type Step struct {
	Table string // table that is being copied; empty: the rows written since the move began, of all tables
	Rows  int    // number of these rows that this Run has copied or skipped
}

// UnreadyError is returned when later events may depend on work that the old cell has not done yet.
type UnreadyError struct {
	Undispatched, Ordered int64 // work that the old cell finishes by itself
	Held, Parked          int64 // work that waits for an operator
}

// Error implements error.
func (e *UnreadyError) Error() string {
	var waits []string
	for _, one := range []struct {
		count int64
		what  string
	}{{e.Undispatched, "events that are not dispatched"}, {e.Ordered, "ordered effects that are unfinished"}, {e.Held, "held events"}, {e.Parked, "parked effects that block their order"}} {
		if one.count > 0 {
			waits = append(waits, fmt.Sprintf("%s: %d", one.what, one.count))
		}
	}
	return "the old cell must finish its work first, because later events may depend on it; " + strings.Join(waits, ", ")
}

// Run moves the source, or continues a move. The old cell accepts events until Run has copied
// nearly everything; then they are refused for some seconds, until the new cell accepts them.
// Errors: *UnreadyError, and errors of the databases. After an error, the old cell accepts the
// source's events again within 8 seconds, unless the source has already moved.
func (v *Move) Run(ctx context.Context) error {
	id, left, err := v.begin(ctx)
	if err != nil {
		return fmt.Errorf("move %s: %w", v.Source, err)
	}
	if !left {
		if err := v.copyTables(ctx, id); err != nil {
			return fmt.Errorf("move %s: %w", v.Source, err)
		}
		if err := v.handOver(ctx, id); err != nil {
			return fmt.Errorf("move %s: %w", v.Source, err)
		}
	}
	if err := v.end(ctx, id); err != nil {
		return fmt.Errorf("move %s: %w", v.Source, err)
	}
	return nil
}

// begin begins the move in the old cell, or finds the interrupted one. The result left is true if
// the source has already left.
func (v *Move) begin(ctx context.Context) (id uuid.UUID, left bool, err error) {
	err = v.From.opts.Ledger.Act(ctx, v.By, v.instruction(), func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		row := v.From.sql.BeginLeaving.With(beginLeaving{Source: v.Source, ToCell: v.To.Cell}).QueryRow(ctx, tx)
		return ledger.Consequence{Result: "move to the cell " + v.To.Cell + " begun"}, row.Scan(&id, &left)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return id, false, fmt.Errorf("the source is no longer in the cell %s: it has moved to a cell other than %s", v.From.Cell, v.To.Cell)
	}
	if err != nil || left {
		return id, left, err
	}
	for _, t := range tables {
		args := tableArgs{Source: v.Source, TableName: t.name}
		if err := v.From.opts.DB.Do(ctx, "begin_move", commit.Limits{Timeout: tableTimeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := v.From.sql.BeginTable.With(args).Exec(ctx, tx)
			return err
		}); err != nil {
			return id, false, fmt.Errorf("add triggers to %s (only the role that owns the tables may): %w", t.name, err)
		}
	}
	return id, false, nil
}

func (v *Move) instruction() ledger.Instruction {
	return ledger.Instruction{Action: ledger.ActionMoveSource, Target: string(v.Source)}
}

// position is the progress of copying one table.
type position struct {
	After string `json:"after"`
	Done  bool   `json:"done,omitzero"`
}

// copyTables copies the rows that existed when the move began.
func (v *Move) copyTables(ctx context.Context, id uuid.UUID) error {
	var progress map[string]position
	if err := v.To.opts.DB.Do(ctx, "begin_arriving", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		return v.To.sql.BeginArriving.With(beginArriving{Source: v.Source, MoveID: id, FromCell: v.From.Cell}).QueryRow(ctx, tx).Scan(&progress)
	}); err != nil {
		return fmt.Errorf("begin in the cell %s: %w", v.To.Cell, err)
	}
	for _, t := range tables {
		at, rows := progress[t.name], 0
		for !at.Done {
			if err := ctx.Err(); err != nil {
				return err
			}
			p, err := v.From.read(ctx, t, v.Source, at.After)
			if err != nil {
				return err
			}
			if at.Done = p.rows < pageRows; p.rows > 0 {
				at.After = p.last
			}
			if err := v.put(ctx, id, map[string][]string{t.name: p.contents}, map[string]position{t.name: at}); err != nil {
				return err
			}
			rows += p.rows
			v.tell(Step{Table: t.name, Rows: rows})
		}
	}
	return nil
}

func (v *Move) tell(s Step) {
	if v.Tell != nil {
		v.Tell(s)
	}
}

// put writes rows of tables to the new cell, and the progress of the copy.
func (v *Move) put(ctx context.Context, id uuid.UUID, contents map[string][]string, progress map[string]position) error {
	err := v.To.opts.DB.Do(ctx, "put_moved", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		for _, t := range tables {
			if rows := contents[t.name]; len(rows) > 0 {
				if err := t.put(ctx, v.To.Moves, tx, putArgs{Source: v.Source, Contents: array(rows)}, v.From.Cell); err != nil {
					return fmt.Errorf("write %s: %w", t.name, err)
				}
			}
		}
		for name, at := range progress {
			encoded, err := json.Marshal(at)
			if err != nil {
				return err
			}
			var noted string
			args := noteProgress{Source: v.Source, MoveID: id, TableName: name, Position: string(encoded)}
			if err := v.To.sql.NoteProgress.With(args).QueryRow(ctx, tx).Scan(&noted); err != nil {
				return fmt.Errorf("note progress: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy to the cell %s: %w", v.To.Cell, err)
	}
	return nil
}

// drain copies the rows that triggers noted, until fewer than a page of them remain. If all is
// true, it continues until none remain.
func (v *Move) drain(ctx context.Context, id uuid.UUID, all bool) error {
	for rows := 0; ; {
		n, err := v.From.readNoted(ctx, v.Source)
		if err != nil || len(n.ids) == 0 {
			return err
		}
		if err := v.put(ctx, id, n.contents, nil); err != nil {
			return err
		}
		if err := v.From.opts.DB.Do(ctx, "forget_moved", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := v.From.sql.ForgetRows.With(forgetRows{Source: v.Source, IDs: n.ids}).Exec(ctx, tx)
			return err
		}); err != nil {
			return fmt.Errorf("forget noted rows: %w", err)
		}
		rows += len(n.ids)
		v.tell(Step{Rows: rows})
		if err := ctx.Err(); err != nil || len(n.ids) < pageRows && !all {
			return err
		}
	}
}

// handOver copies the rows that changed during the first copy, and fences the source. It then
// copies the rows that have changed since, and marks the source as moved in the old cell.
func (v *Move) handOver(ctx context.Context, id uuid.UUID) error {
	if err := v.drain(ctx, id, false); err != nil {
		return err
	}
	unready, err := v.unready(ctx)
	if err != nil {
		return err
	}
	if unready.Held+unready.Parked > 0 {
		return &unready // a fence would not end this work, and would only refuse deliveries
	}
	if err := v.fence(ctx, fenceFor); err != nil {
		return err
	}
	fenced, cancel := context.WithTimeout(ctx, fencedFor)
	defer cancel()
	if err := v.handOverFenced(fenced, id); err != nil { // after an unknown outcome the source may have left: lifting the fence then changes nothing
		return errors.Join(err, v.fence(context.WithoutCancel(ctx), 0))
	}
	return nil
}

// fence makes the old cell refuse events of the source for the period. When it returns, all earlier
// events are committed and noted. A period of 0 ends the fence.
func (v *Move) fence(ctx context.Context, period time.Duration) error {
	err := v.From.opts.DB.Do(ctx, "fence_move", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if _, err := v.From.sql.LockMove.With(sourceArgs{v.Source}).Exec(ctx, tx); err != nil {
			return err
		}
		_, err := v.From.sql.Fence.With(fenceArgs{Source: v.Source, FenceSecs: period.Seconds()}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return nil
}

// handOverFenced waits until the old cell has done everything on which later events may depend. It
// then copies the changed rows that remain, and marks the source as moved in the old cell.
func (v *Move) handOverFenced(ctx context.Context, id uuid.UUID) error {
	var unready UnreadyError
	for range (retry.Pauses{First: 20 * time.Millisecond, Max: 200 * time.Millisecond}).Until(ctx) {
		now, err := v.unready(ctx)
		if err != nil && ctx.Err() != nil && unready != (UnreadyError{}) {
			break // the time ran out during a later count
		}
		if err != nil {
			return err
		}
		if unready = now; unready != (UnreadyError{}) {
			continue
		}
		if err := v.drain(ctx, id, true); err != nil {
			return err
		}
		return v.leave(ctx, id)
	}
	return &unready
}

// unready counts the work on which later events may depend.
func (v *Move) unready(ctx context.Context) (e UnreadyError, err error) {
	row := v.From.sql.Unready.With(sourceArgs{v.Source}).QueryRow(ctx, v.From.opts.ReadPool)
	if err := row.Scan(&e.Undispatched, &e.Held, &e.Ordered, &e.Parked); err != nil {
		return e, fmt.Errorf("count unfinished work: %w", err)
	}
	return e, nil
}

// leave copies the source's coverage, open redelivery requests, sender keys and known addresses. It
// then marks the source as moved in the old cell. It fails if the fence has ended, or if a noted
// row is not copied yet.
func (v *Move) leave(ctx context.Context, id uuid.UUID) error {
	var rest string
	if err := v.From.sql.Rest.With(sourceArgs{v.Source}).QueryRow(ctx, v.From.opts.ReadPool).Scan(&rest); err != nil {
		return fmt.Errorf("read coverage and keys: %w", err)
	}
	if err := v.To.opts.DB.Do(ctx, "put_moved_rest", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := v.To.sql.PutRest.With(putVersions{Contents: rest}).Exec(ctx, tx)
		return err
	}); err != nil {
		return fmt.Errorf("write coverage and keys: %w", err)
	}
	args := moveArgs{Source: v.Source, MoveID: id}
	err := v.From.opts.Ledger.Act(ctx, v.By, v.instruction(), func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		came := ledger.Consequence{Result: "moved to the cell " + v.To.Cell}
		if _, err := v.From.sql.LockMove.With(sourceArgs{v.Source}).Exec(ctx, tx); err != nil {
			return came, err
		}
		var left string
		return came, v.From.sql.Leave.With(args).QueryRow(ctx, tx).Scan(&left)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the fence ended before the rest was copied; run the command again")
	}
	return err
}

// end lets the new cell accept the source's events. In the old cell, it drops the triggers that
// noted rows, and forgets when the source was last seen.
func (v *Move) end(ctx context.Context, id uuid.UUID) error {
	err := v.To.opts.Ledger.Act(ctx, v.By, v.instruction(), func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		var arrived string
		row := v.To.sql.Arrive.With(moveArgs{Source: v.Source, MoveID: id}).QueryRow(ctx, tx)
		return ledger.Consequence{Result: "moved from the cell " + v.From.Cell}, row.Scan(&arrived)
	})
	if err != nil {
		return fmt.Errorf("let the cell %s accept: %w", v.To.Cell, err)
	}
	for i, t := range tables {
		if err := v.From.opts.DB.Do(ctx, "end_move", commit.Limits{Timeout: tableTimeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			if i == 0 {
				if _, err := v.From.sql.ForgetSeen.With(sourceArgs{v.Source}).Exec(ctx, tx); err != nil {
					return err
				}
			}
			_, err := v.From.sql.EndTable.With(tableArgs{Source: v.Source, TableName: t.name}).Exec(ctx, tx)
			return err
		}); err != nil {
			return fmt.Errorf("the source has moved; drop the triggers of %s: %w", t.name, err)
		}
	}
	return nil
}
