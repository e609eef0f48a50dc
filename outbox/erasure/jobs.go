package erasure

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// jobSlice is the number of jobs that one transaction reads.
	jobSlice = 10_000
	// jobsTogether is the maximum number of events and of effects whose jobs one walk deletes.
	jobsTogether = 10_000
)

// jobsOf lists the events and effects whose jobs are to be deleted.
type jobsOf struct {
	events  []identity.EventRef
	effects []identity.EffectID
}

func (of *jobsOf) add(more jobsOf) {
	of.events, of.effects = append(of.events, more.events...), append(of.effects, more.effects...)
}

// eraseJobs walks River's jobs and deletes the jobs of the erased events and effects. Only the
// arguments of a job identify its event, and an index on them would make every event more
// expensive. eraseJobs calls the function still before each slice and returns its error; still may
// be nil.
func (e *Eraser) eraseJobs(ctx context.Context, of jobsOf, still func(context.Context) error) error {
	for len(of.events)+len(of.effects) > 0 {
		now := jobsOf{events: first(of.events), effects: first(of.effects)}
		of.events, of.effects = of.events[len(now.events):], of.effects[len(now.effects):]
		if err := e.walkJobs(ctx, now, still); err != nil {
			return fmt.Errorf("erase jobs: %w", err)
		}
	}
	return nil
}

func first[T any](all []T) []T { return all[:min(len(all), jobsTogether)] }

func (e *Eraser) walkJobs(ctx context.Context, of jobsOf, still func(context.Context) error) error {
	for slice := (eraseJobs{Events: of.events, Effects: of.effects, Limit: jobSlice}); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if still != nil {
			if err := still(ctx); err != nil {
				return err
			}
		}
		var next *int64
		err := e.db.Do(ctx, "erase_jobs", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			return e.sql.EraseJobs.With(slice).QueryRow(ctx, tx).Scan(&next)
		})
		if err != nil || next == nil {
			return err
		}
		slice.After = *next
	}
}
