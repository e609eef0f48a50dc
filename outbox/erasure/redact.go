package erasure

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// redactSlice is the number of events, of any source, that a walk reads at once.
	redactSlice = 2_000
	// redactBatch is the number of events that share a transaction.
	redactBatch = 50
	// redactTimeout limits a transaction of the redaction, including its retries.
	redactTimeout = time.Minute
)

// Redaction describes the values that a source does not keep.
type Redaction struct {
	Source identity.Source
	// Pointers refer to the values, starting at the event (RFC 6901). For a form they are field
	// names with a leading slash.
	Pointers []string
	// After is the minimum time between the end of an event's work and the redaction of its values.
	After time.Duration
}

// rules returns a hash of the pointers, which is stored with a source's progress.
func (r Redaction) rules() string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(r.Pointers)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// Redacted is the result of a redaction.
type Redacted struct {
	Events  int
	Waiting int // events that wait: their work has not ended, or ended too recently
	// Unfinished is true if the call ran out of time while it read and redacted events.
	Unfinished bool

	jobs    jobsOf // jobs to be deleted
	refused error  // error of the current source's first event that could not be redacted
}

// Redact replaces the values that sources do not keep, in the bodies of all events whose work ended
// long enough ago. Parts of a body that belong to no event are erased. Every other byte stays.
// Requests, responses and errors of the events' effects may contain the values in any position and
// form, so they are erased entirely. A body that is neither JSON nor a form is also erased
// entirely. A redacted event is not dispatched again. Redact returns when all work is done, or ctx
// is done. Each call begins with the next source, so that no source holds up the others. An event
// that cannot be redacted waits for the next call, and holds up no other event.
func (e *Eraser) Redact(ctx context.Context, redactions []Redaction) (Redacted, error) {
	var done Redacted
	var errs []error
	for _, r := range e.walks.inTurn(redactions) {
		if len(r.Pointers) == 0 || ended(ctx) {
			continue
		}
		done.refused = nil
		err := e.redactSource(ctx, r, &done)
		if err = cmp.Or(err, done.refused); err != nil {
			errs = append(errs, fmt.Errorf("redact events of %s: %w", r.Source, err))
		}
	}
	if ended(ctx) {
		done.Unfinished = true
		return done, errors.Join(errs...) // no time is left to delete jobs: River prunes them later
	}
	return done, errors.Join(append(errs, e.eraseJobs(ctx, done.jobs, nil))...)
}

// ended reports whether the call has used up its time. The next call continues.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

func (e *Eraser) redactSource(ctx context.Context, r Redaction, done *Redacted) error {
	at, err := e.begin(ctx, r)
	if err == nil {
		err = e.redactWaiting(ctx, r, done)
	}
	if err == nil {
		err = e.redactNew(ctx, r, at, done)
	}
	return err
}

// begin notes the run, and returns the position at which the last walk over the events ended. If the
// rules changed, the walk restarts. begin returns an error if the database's clock may have jumped.
func (e *Eraser) begin(ctx context.Context, r Redaction) (setProgress, error) {
	at := setProgress{Source: r.Source, Rules: r.rules()}
	var rules string
	var seq int64
	var waitsSince, ranAt *time.Time
	err := e.inRedaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return e.sql.BeginRedaction.With(beginRedaction{Source: r.Source, Rules: at.Rules}).QueryRow(ctx, tx).Scan(&rules, &seq, &waitsSince, &ranAt)
	})
	if err != nil {
		return at, fmt.Errorf("read progress: %w", err)
	}
	if waitsSince != nil {
		return at, fmt.Errorf("more than three days have passed since the last run at %s, by the database's clock: redaction waits for a day from %s, in case the clock is wrong",
			ranAt.UTC().Format(time.RFC3339), waitsSince.UTC().Format(time.RFC3339))
	}
	if rules == at.Rules {
		at.AcceptSeq = seq
	}
	return at, nil
}

// redactWaiting tries again to redact the events that earlier calls left waiting. It uses at most
// half of the call's time and begins where the previous call ended. Many waiting events therefore
// hold up neither new events nor each other.
func (e *Eraser) redactWaiting(ctx context.Context, r Redaction, done *Redacted) error {
	over := halfOver(ctx)
	for page := (waiting{Source: r.Source, After: e.walks.left(r.Source), Limit: redactBatch}); ; {
		rows, err := e.sql.Waiting.With(page).Query(ctx, pipeline.ByIndex{Sender: e.read})
		if err != nil {
			return fmt.Errorf("read waiting rows: %w", err)
		}
		refs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[identity.EventRef])
		if err != nil {
			return fmt.Errorf("read waiting rows: %w", err)
		}
		if len(refs) == 0 {
			e.walks.leave(r.Source, "")
			return nil
		}
		last := refs[len(refs)-1].EventID // in the order of the page
		if err := e.redactTogether(ctx, r, refs, nil, done); err != nil {
			return err
		}
		page.After = last
		e.walks.leave(r.Source, last)
		if over() {
			return nil
		}
	}
}

// redactNew redacts the source's events after a position, or notes that they wait.
func (e *Eraser) redactNew(ctx context.Context, r Redaction, at setProgress, done *Redacted) error {
	for !ended(ctx) {
		refs, last, err := e.redactable(ctx, r, at.AcceptSeq)
		if err != nil || last == 0 {
			return err
		}
		for len(refs) > redactBatch {
			if err := e.redactTogether(ctx, r, refs[:redactBatch], nil, done); err != nil || ended(ctx) {
				return err
			}
			refs = refs[redactBatch:]
		}
		at.AcceptSeq = last
		if err := e.redactTogether(ctx, r, refs, &at, done); err != nil {
			return err
		}
	}
	return nil
}

// redactable reads the next slice. It returns the source's events that are old enough, and the
// position of the slice's last old event, whatever its source. The position is 0 if the slice
// contains no old event.
func (e *Eraser) redactable(ctx context.Context, r Redaction, after int64) (refs []identity.EventRef, last int64, err error) {
	slice := redactable{Source: r.Source, After: after, AfterSeconds: r.After.Seconds(), Limit: redactSlice}
	rows, err := e.sql.Redactable.With(slice).Query(ctx, pipeline.ByIndex{Sender: e.read})
	if err != nil {
		return nil, 0, fmt.Errorf("find events: %w", err)
	}
	var ref identity.EventRef
	var selected bool
	_, err = pgx.ForEachRow(rows, []any{&selected, &ref.Source, &ref.EventID, &last}, func() error {
		if selected {
			refs = append(refs, ref)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("find events: %w", err)
	}
	return refs, last, nil
}

// lockedError is returned for an event that another transaction has locked. It hides the Postgres
// error, so that commit.DB does not retry the transaction.
type lockedError struct{ text string }

// Error implements error.
func (e *lockedError) Error() string { return e.text }

// redactTogether redacts events, or notes that they wait. It updates the progress in the last
// transaction. If Postgres refuses a transaction with several events, redactTogether tries each
// half of the events separately. An event that Postgres refuses alone waits.
func (e *Eraser) redactTogether(ctx context.Context, r Redaction, refs []identity.EventRef, to *setProgress, done *Redacted) error {
	err := e.redactAtOnce(ctx, r, refs, to, done)
	_, locked := errors.AsType[*lockedError](err)
	if err == nil || ended(ctx) || !locked && !sqlstate.Answered(err) || len(refs) == 0 {
		return err
	}
	if half := len(refs) / 2; half > 0 {
		if err := e.redactTogether(ctx, r, refs[:half], nil, done); err != nil {
			return err
		}
		return e.redactTogether(ctx, r, refs[half:], to, done)
	}
	done.refused = cmp.Or(done.refused, err)
	return e.inRedaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := e.sql.NoteWaiting.With(refs[0]).Exec(ctx, tx); err != nil {
			return fmt.Errorf("%s: note that it waits: %w", refs[0], err)
		}
		return e.progressTo(ctx, tx, to)
	})
}

// redactAtOnce redacts events, or notes that they wait, and updates the progress, all in one
// transaction.
func (e *Eraser) redactAtOnce(ctx context.Context, r Redaction, refs []identity.EventRef, to *setProgress, done *Redacted) error {
	// All batches lock their events in this order, to avoid deadlocks.
	slices.SortFunc(refs, func(a, b identity.EventRef) int { return cmp.Compare(a.EventID, b.EventID) })
	var came Redacted
	var of jobsOf
	err := e.inRedaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		came, of = Redacted{}, jobsOf{}
		for _, ref := range refs {
			err := e.redactEvent(ctx, tx, r, ref, &came, &of)
			if sqlstate.Is(err, sqlstate.LockNotAvailable) {
				err = &lockedError{err.Error()}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", ref, err)
			}
		}
		return e.progressTo(ctx, tx, to)
	})
	if err != nil {
		return err
	}
	done.Events += came.Events
	done.Waiting += came.Waiting
	done.jobs.add(of)
	return nil
}

// inRedaction runs f in a transaction with the limits of a redaction.
func (e *Eraser) inRedaction(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	limits := commit.Limits{Timeout: redactTimeout, Recurring: true}
	return e.db.Do(ctx, "redact", limits, func(ctx context.Context, tx pgx.Tx, _ bool) error { return f(ctx, tx) })
}

// progressTo updates the progress of a source. It does nothing if to is nil.
func (e *Eraser) progressTo(ctx context.Context, tx pgx.Tx, to *setProgress) error {
	if to == nil {
		return nil
	}
	if _, err := e.sql.SetProgress.With(*to).Exec(ctx, tx); err != nil {
		return fmt.Errorf("note progress: %w", err)
	}
	return nil
}
