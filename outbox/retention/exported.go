package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/export"
)

// exportDays exports days of deliveries, oldest first, and verifies their files. It returns the
// days that may be dropped. The first day that cannot be exported ends the run. If the time runs
// out first, exportDays sets r.exporting.
func (r *run) exportDays(ctx context.Context, days []partition) ([]partition, error) {
	if r.export == nil {
		return days, nil
	}
	for i, p := range days {
		over := func() bool { return r.over(ctx) }
		var err error
		if p.attached && !p.pending {
			err = r.export.Export(ctx, p.day, over)
		} else { // an earlier run exported it
			err = r.export.Verify(ctx, p.day, over)
		}
		if errors.Is(err, export.ErrUnfinished) {
			r.exporting = true
			return days[:i], nil
		}
		if err != nil {
			return days[:i], fmt.Errorf("export %s to %s, so that it can be dropped: %w", p.day.Format(time.DateOnly), r.export.Storage(), err)
		}
	}
	return days, nil
}

// eraseNoted erases events in the export, for at most half of the run's remaining time. Otherwise a
// run with many erasures, or with a large export, would delete nothing.
func (r *run) eraseNoted(ctx context.Context) error {
	half := time.Now().Add(time.Until(r.order.Until) / 2)
	err := r.export.EraseNoted(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil || !r.order.Until.IsZero() && time.Now().After(half) {
			return export.ErrUnfinished
		}
		return nil
	})
	if errors.Is(err, export.ErrUnfinished) {
		return nil // the next run continues
	}
	return err
}

// keepUnexported keeps events whose deliveries are not exported yet.
func (r *run) keepUnexported(events *task) {
	if oldest := r.tasks[0].oldest; r.export != nil && !oldest.IsZero() && events.before.After(oldest) {
		events.before = oldest
	}
}
