package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// SetAside moves an effect's job to a queue that no worker reads. A process calls SetAside, and
// then snoozes the job, if the effect cannot start now because its destination is paused or has no
// free slot. The job waits in that queue, at no cost, until Recall.
//
// SetAside and Recall need not survive a server failure. A job that SetAside did not move is only
// snoozed once more, and the next Recall moves the jobs that are left. Errors: ErrUnavailable.
func (f *Fleet) SetAside(ctx context.Context, destination string, jobID int64) error {
	err := f.db.Statement("set_aside", func(db pipeline.ByIndex) error {
		_, err := f.sql.SetAside.With(setAside{AsideQueue: riverjob.AsideQueue(destination), JobID: jobID}).Exec(ctx, db)
		return err
	})
	if err != nil {
		return fmt.Errorf("set job of %s aside: %w", destination, err)
	}
	return nil
}

// Aside is a destination that has jobs set aside.
type Aside struct {
	Destination string
	Paused      bool // the destination is paused, or unknown: Recall would move no job
}

// AsideOf lists the given destinations that have jobs set aside. Errors: ErrUnavailable.
func (f *Fleet) AsideOf(ctx context.Context, destinations []string) (found []Aside, err error) {
	asked := asideOf{Aside: make([]asideRow, len(destinations))}
	for i, name := range destinations {
		asked.Aside[i] = asideRow{Destination: name, AsideQueue: riverjob.AsideQueue(name)}
	}
	err = f.db.Statement("destinations_aside", func(db pipeline.ByIndex) error {
		rows, err := f.sql.DestinationsAside.With(asked).Query(ctx, db)
		if err == nil {
			found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Aside])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find jobs that were set aside: %w", err)
	}
	return found, nil
}

// Recall moves up to limit jobs that were set aside for a destination back to its queue, the
// highest priority first, and then the longest waiting. It returns the number of moved jobs, which
// is 0 while the destination is paused. Errors: ErrUnavailable.
func (f *Fleet) Recall(ctx context.Context, destination string, limit int) (recalled int, err error) {
	recall := recallJobs{Destination: destination, AsideQueue: riverjob.AsideQueue(destination), Limit: limit}
	err = f.db.Statement("recall_jobs", func(db pipeline.ByIndex) error {
		var notified bool
		err := f.sql.RecallJobs.With(recall).QueryRow(ctx, db).Scan(&recalled, &notified)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("recall jobs of %s: %w", destination, err)
	}
	return recalled, nil
}
