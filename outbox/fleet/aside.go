package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// SetAside sends the job of an effect that cannot start now, because its
// destination is paused or has no free slot, to where nobody works it. The process
// that runs the job then snoozes it. It waits there, at no cost, until Recall.
//
// Neither is one of the transactions that must survive: a job that stays where it
// was is only told once more to wait. Errors: ErrUnavailable.
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

// Aside is a destination with jobs that are set aside.
type Aside struct {
	Destination string
	Paused      bool // Recall would bring none back
}

// AsideOf lists those of the destinations that have jobs set aside. Errors:
// ErrUnavailable.
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

// Recall brings up to limit of the jobs that were set aside for a destination back
// into its queue, those that wait longest first, and counts them. It brings none
// while the destination is paused. Errors: ErrUnavailable.
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
