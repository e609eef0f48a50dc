package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ManyError is returned when a bulk run would select more targets than its limit.
type ManyError struct{ Most int64 }

// Error implements error.
func (e *ManyError) Error() string {
	return fmt.Sprintf("it matches more than %d: narrow the filter, or ask an operator whose role has no limit", e.Most)
}

// ErrNoReason is returned when a bulk run that includes effects in doubt has no reason.
var ErrNoReason = errors.New("a reason is required for effects that may already have been applied")

// Begin stores a bulk run with the operator who requested it. Any worker, or a call of Work, then
// carries it out. A repeated request with the same RequestID returns the existing run. If o.Most is
// set, Begin first counts the selected targets, and refuses the request if there are more than
// o.Most. Errors: *ManyError, ErrNoReason, ErrUnavailable.
func (r *Runs) Begin(ctx context.Context, o Order, by ledger.Operator) (Run, error) {
	run, err := r.begin(ctx, o, by)
	if err != nil {
		return Run{}, fmt.Errorf("begin a run: %w", err)
	}
	return run, nil
}

func (r *Runs) begin(ctx context.Context, o Order, by ledger.Operator) (Run, error) {
	o, err := r.fixed(ctx, o)
	if err := errors.Join(err, by.Validate()); err != nil {
		return Run{}, err
	}
	if !o.OfEvents() && o.InDoubt && strings.TrimSpace(by.Reason) == "" {
		return Run{}, ErrNoReason
	}
	total, err := r.count(ctx, o)
	if err != nil {
		return Run{}, err
	}
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	filter, err := o.Record()
	if err != nil {
		return Run{}, err
	}
	concealed := o.Concealed(by.RequestID)
	logged, err := concealed.Record()
	if err != nil {
		return Run{}, err
	}
	o.Name = safetext.Storable(o.Name)
	first := begin{
		Name: o.Name, Action: o.Action, Filter: filter, Most: o.Most, PerSecond: o.PerSecond, Who: by.Who, Role: by.Role, Via: by.Via,
		Reason: column.Reason(by.Reason), RequestID: by.RequestID, Total: column.NumberOrNull(total), Newer: !o.known(),
	}
	var id int64
	err = r.opts.Ledger.Act(ctx, by, ledger.Instruction{Action: o.Action, Target: concealed.Words(), Filter: logged},
		func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
			var made int64
			err := r.sql.Begin.With(first).QueryRow(ctx, tx).Scan(&made)
			if errors.Is(err, pgx.ErrNoRows) {
				err = errBegun
			}
			if err != nil {
				return ledger.Consequence{}, fmt.Errorf("store the run: %w", err)
			}
			if err := r.opts.Jobs.InsertRuns(ctx, tx, []int64{made}); err != nil {
				return ledger.Consequence{}, err
			}
			id = made
			return ledger.Consequence{Result: fmt.Sprintf("run %d begins", made), Run: made}, nil
		})
	if errors.Is(err, errBegun) || err == nil && id == 0 { // the request was carried out earlier
		err = r.sql.RunOfRequest.With(ofRequest{RequestID: by.RequestID}).QueryRow(ctx, pipeline.ByIndex{Sender: r.read}).Scan(&id)
	}
	if err != nil {
		return Run{}, err
	}
	return r.Get(ctx, id)
}

// errBegun means that the same request already started a run.
var errBegun = errors.New("it has already started")

// countFor limits the time for counting the targets of a run without a limit. The count shows
// operators how much of the run is left.
const countFor = time.Second

// count returns the number of selected targets, or 0 if counting takes too long. Errors:
// *ManyError.
func (r *Runs) count(ctx context.Context, o Order) (int64, error) {
	bite := Bite{Most: o.Most}
	if o.Most == 0 {
		if o.Counted > 0 {
			return o.Counted, nil
		}
		bite.For = countFor
	}
	counted, err := r.Preview(ctx, o, bite)
	switch {
	case err != nil:
		return 0, err
	case o.Most > 0 && counted.Selected > o.Most:
		return 0, &ManyError{o.Most}
	case counted.More:
		return 0, nil
	}
	return counted.Selected, nil
}
