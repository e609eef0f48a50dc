package measure

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// minutesKept is a day, and what it takes to compare an hour with that of the day
	// before.
	minutesKept = 26 * time.Hour
	// kept is a year, and some.
	kept = 400 * 24 * time.Hour
	// summedAgain is how far back hours are summed up again: counts come late for as
	// long as maxWait.
	summedAgain = maxWait + time.Hour
	// droppedAtOnce bounds one statement.
	droppedAtOnce = 10_000
)

// Tidy sums up the hours, measures the tables, and drops what is past its time.
// Whoever leads calls it, every few minutes.
func (c *Counts) Tidy(ctx context.Context) error {
	var errs []error
	do := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	_, err := c.sql.SumHours.With(sumHours{AgainSeconds: summedAgain.Seconds()}).Exec(ctx, c.pool)
	do("sum up hours", err)
	_, err = c.sql.MeasureSizes.Exec(ctx, c.pool)
	do("measure tables", err)
	old := keptFor{KeptSeconds: kept.Seconds()}
	_, err = c.sql.DropMinutes.With(dropCounts{keptFor: keptFor{KeptSeconds: minutesKept.Seconds()}, Limit: droppedAtOnce}).Exec(ctx, c.pool)
	do("drop old minutes", err)
	_, err = c.sql.DropHours.With(dropCounts{keptFor: old, Limit: droppedAtOnce}).Exec(ctx, c.pool)
	do("drop old hours", err)
	_, err = c.sql.DropLastSeen.With(old).Exec(ctx, c.pool)
	do("drop what was seen long ago", err)
	_, err = c.sql.DropSizes.With(old).Exec(ctx, c.pool)
	do("drop old sizes", err)
	return errors.Join(errs...)
}
