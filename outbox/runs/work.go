package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// lease is the time for which a worker holds a run after it has last extended the lease. Each
	// batch extends it.
	lease = 30 * time.Second
	// stepsApart is the minimum time between two saves of the position while nothing is found.
	stepsApart = time.Second
)

var (
	// errTaken means that this worker no longer holds the run.
	errTaken = errors.New("an operator changed the run, or another worker took it over")
	// errOver means that this worker has reached its time limit.
	errOver = errors.New("the time is over")
)

// Enqueue inserts a job for every running run that no worker holds and that got no job in the last
// 15 seconds.
func (r *Runs) Enqueue(ctx context.Context) error {
	var idle bool
	err := r.db.Statement("run.idle", func(db pipeline.ByIndex) error { return r.sql.Idle.QueryRow(ctx, db).Scan(&idle) })
	if err == nil && idle {
		err = r.db.Do(ctx, "run.enqueue", commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			rows, err := r.sql.Enqueue.Query(ctx, tx)
			if err != nil {
				return err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err != nil {
				return err
			}
			return r.opts.Jobs.InsertRuns(ctx, tx, ids)
		})
	}
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	return nil
}

// Work works on a run until the run ends or is paused, ctx is done, or the time in until is
// reached. It returns the run's state at that time. Work does nothing while another worker holds
// the run, or if this process cannot perform the action. Work calls the function progress after
// each step; progress may be nil.
func (r *Runs) Work(ctx context.Context, id int64, until time.Time, progress func(Run)) (Run, error) {
	mine := leased{ID: id, Worker: uuid.New()}
	held := false
	err := r.db.Statement("run.claim", func(db pipeline.ByIndex) error {
		err := r.sql.Claim.With(claim{leased: mine, Actions: r.doable(), LeaseSeconds: lease.Seconds()}).QueryRow(ctx, db).Scan(&id)
		if held = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("take run %d: %w", id, err)
	}
	if held {
		err = r.work(ctx, mine, until, progress)
	}
	run, readErr := r.Get(context.WithoutCancel(ctx), id)
	return run, errors.Join(err, readErr)
}

// carryFor is the time for which Carry works on a run before it reads the run again. lookLater is
// the interval of Carry's checks while another process works on the run.
const (
	carryFor  = time.Hour
	lookLater = 500 * time.Millisecond
)

// Carry works on a run, or waits while another process does, until the run is no longer running or
// ctx is done. It returns the run's state at that time. Carry calls the function progress after each
// step, and repeatedly while another process works on the run; progress may be nil.
func (r *Runs) Carry(ctx context.Context, run Run, progress func(Run)) (Run, error) {
	for run.State == Running && ctx.Err() == nil {
		at, err := r.Work(ctx, run.ID, time.Now().Add(carryFor), progress)
		if at.ID != 0 { // the run was read
			run = at
		}
		if err != nil {
			return run, err
		}
		if run.State != Running || !run.Worked && r.does(run.Action) {
			continue
		}
		if progress != nil {
			progress(run)
		}
		select {
		case <-time.After(lookLater):
		case <-ctx.Done():
		}
	}
	return run, nil
}

// StoppedError is returned when a run did not complete.
type StoppedError struct{ Run Run }

// Error implements error.
func (e *StoppedError) Error() string {
	text := fmt.Sprintf("run %d is %s", e.Run.ID, e.Run.State)
	if e.Run.Error != "" {
		text += ": " + e.Run.Error
	}
	return text
}

// Through starts a run and carries it to its end. Errors: *StoppedError, the cause of ctx, and the
// errors of Begin and Carry.
func (r *Runs) Through(ctx context.Context, o Order, by ledger.Operator, progress func(Run)) (Run, error) {
	run, err := r.Begin(ctx, o, by)
	if err != nil {
		return run, err
	}
	if run, err = r.Carry(ctx, run, progress); err == nil && run.State != Done {
		err = cmp.Or(context.Cause(ctx), error(&StoppedError{run}))
	}
	return run, err
}

func (r *Runs) work(ctx context.Context, mine leased, until time.Time, progress func(Run)) error {
	run, err := r.Get(ctx, mine.ID)
	if err != nil {
		return err
	}
	s := &shift{Runs: r, leased: mine, run: run, until: until, progress: progress, saved: run.Counts, stepped: time.Now()}
	s.next = time.Now().Add(run.waits)
	state, why := Done, ""
	err = s.many(ctx)
	if wrong, is := errors.AsType[*find.ConditionError](err); is { // the condition was valid when the run was requested
		state, why, err = Failed, wrong.Error(), nil
	} else if many, is := errors.AsType[*ManyError](err); is {
		state, why, err = Stopped, many.Error(), nil
	}
	if err == nil {
		err = r.finish(ctx, run, s.still)
	}
	switch {
	case err == nil:
		return s.end(ctx, state, why)
	case errors.Is(err, errTaken):
		return nil
	case errors.Is(err, errOver) || ctx.Err() != nil:
		err = nil
	default:
		err = fmt.Errorf("run %d: %w", mine.ID, err)
	}
	var stuck string // operators see why the run does not continue, until it does
	if err != nil {
		stuck = column.Reason(err.Error())
	}
	// A failed release costs only time, because the lease expires.
	released := r.db.Statement("run.release", func(db pipeline.ByIndex) error {
		_, err := r.sql.Release.With(givenBack{leased: mine, Error: stuck}).Exec(context.WithoutCancel(ctx), db)
		return err
	})
	return errors.Join(err, released)
}

// shift is a worker's turn at a run.
type shift struct {
	*Runs
	leased

	run      Run
	until    time.Time
	progress func(Run)
	next     time.Time // earliest start of the next batch
	stepped  time.Time // time when the position was last saved
	saved    Counts    // counts saved with the position
}

// finish does an action's final work. The function still extends the lease; it is nil without a
// lease.
func (r *Runs) finish(ctx context.Context, run Run, still func(context.Context) error) error {
	if v := verbOf(run.Action); v.finish != nil {
		return v.finish(ctx, r, run, still)
	}
	return nil
}

// step changes a batch and moves the run's position past it, in one transaction. The parameter many
// is the number of targets in the batch. The function do changes them and returns the results; if
// it is nil, step stores only the position, the counts and the lease.
func (s *shift) step(ctx context.Context, place string, many int, do func(ctx context.Context, tx pgx.Tx) (Counts, error)) error {
	var did Counts
	var pace, rest float64
	began := time.Now()
	err := s.db.Do(ctx, "run.step", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		var at string
		err := s.sql.LockRun.With(s.leased).QueryRow(ctx, tx).Scan(&at, &pace)
		if errors.Is(err, pgx.ErrNoRows) {
			return errTaken
		}
		if err != nil {
			return fmt.Errorf("lock the run: %w", err)
		}
		if repeated && at == place {
			return nil // the earlier try was committed: did contains its results
		}
		if at != s.run.place { // never true while this worker holds the lease; the check costs nothing
			return errTaken
		}
		did, rest = Counts{}, 0
		if do != nil {
			if pace > 0 {
				rest = float64(many) / pace
			}
			if did, err = do(ctx, tx); err != nil {
				return err
			}
		}
		c := sum(s.run.Counts, did)
		came, err := plainjson.Marshal(c.Came)
		if err != nil {
			return err
		}
		_, err = s.sql.Advance.With(advance{
			leased: s.leased, LeaseSeconds: lease.Seconds(), RestSeconds: rest, Place: place, Selected: c.Selected, Changed: c.Changed, Reopened: c.Reopened,
			InDoubt: c.InDoubt, Unrendered: c.Unrendered, Unclear: c.Unclear, Came: came,
		}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	s.run.place, s.run.PerSecond, s.stepped = place, pace, time.Now()
	if do != nil {
		s.next = began.Add(time.Duration(rest * float64(time.Second)))
	}
	s.run.Counts = sum(s.run.Counts, did)
	s.saved = s.run.Counts
	if s.progress != nil {
		s.progress(s.run)
	}
	return nil
}

// passed saves the position from which the search continues, at most once every stepsApart. If the
// worker has reached its time limit, passed always saves the position and returns errOver.
func (s *shift) passed(ctx context.Context, place string) error {
	if err := s.over(ctx); err != nil {
		return errors.Join(s.step(ctx, place, 0, nil), err)
	}
	if place == s.run.place || time.Since(s.stepped) < stepsApart {
		return nil
	}
	return s.step(ctx, place, 0, nil)
}

// over returns the reason why no further batch may start, or nil.
func (s *shift) over(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if !time.Now().Before(s.until) {
		return errOver
	}
	return nil
}

// lookAgain is the interval at which a waiting worker extends its lease and checks whether an
// operator has changed the run.
const lookAgain = 5 * time.Second

// wait waits until the next batch may start.
func (s *shift) wait(ctx context.Context) error {
	for {
		if err := s.over(ctx); err != nil {
			return err
		}
		pause := time.Until(s.next)
		if pause <= 0 {
			return nil
		}
		select {
		case <-time.After(min(pause, lookAgain, max(time.Until(s.until), 0))):
		case <-ctx.Done():
			continue
		}
		if time.Since(s.stepped) < lookAgain {
			continue
		}
		pace := s.run.PerSecond
		if err := s.look(ctx); err != nil {
			return err
		}
		if s.run.PerSecond != pace { // the pace changed, so the rest of the wait no longer applies
			s.next = time.Now()
		}
	}
}

// still extends the worker's lease during a long operation, at most once every lookAgain.
func (s *shift) still(ctx context.Context) error {
	if time.Since(s.stepped) < lookAgain {
		return nil
	}
	return s.look(ctx)
}

// look extends the lease and reads the pace, without moving the position.
func (s *shift) look(ctx context.Context) error {
	counts := s.run.Counts // some counts may belong to targets after the position
	s.run.Counts = s.saved
	err := s.step(ctx, s.run.place, 0, nil)
	s.run.Counts = counts
	return err
}

// end ends the run and stores its counts.
func (s *shift) end(ctx context.Context, state State, why string) error {
	err := s.step(ctx, s.run.place, 0, nil)
	if err == nil {
		var filter json.RawMessage
		if filter, err = s.run.Concealed(s.run.By.RequestID).Record(); err != nil {
			return err
		}
		err = s.db.Do(ctx, "run.end", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := s.sql.End.With(end{leased: s.leased, State: state, Error: why, Filter: filter}).Exec(ctx, tx)
			return err
		})
	}
	if errors.Is(err, errTaken) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end run %d: %w", s.ID, err)
	}
	return nil
}
