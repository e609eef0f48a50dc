package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/statement"
)

const (
	// minutesKept is a day, plus the time needed to compare an hour with the same hour of the day
	// before.
	minutesKept = 26 * time.Hour
	// kept is the period for which all other rows are kept: somewhat more than a year.
	kept = 400 * 24 * time.Hour
	// summedAgain is the period for which sums are computed again: counts may be late by up to
	// maxWait.
	summedAgain = maxWait + time.Hour
	// droppedAtOnce is the maximum number of rows that one statement deletes.
	droppedAtOnce = 10_000
	// hoursOfAll is the period for which hours are summed over all names. It covers a week.
	hoursOfAll = 8 * 24 * time.Hour
)

// Tidy sums minutes into hours, and sums minutes and hours over all names. It also measures the
// tables, and deletes expired rows. The leader calls Tidy every few minutes.
func (c *Counts) Tidy(ctx context.Context) error {
	var errs []error
	do := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	_, err := c.sql.SumMinutesOfAll.With(sumOfAll{AgainSeconds: summedAgain.Seconds(), BackSeconds: minutesKept.Seconds()}).Exec(ctx, c.pool)
	do("sum up minutes over all names", err)
	_, err = c.sql.SumHours.With(sumHours{AgainSeconds: summedAgain.Seconds()}).Exec(ctx, c.pool)
	do("sum up hours", err)
	_, err = c.sql.SumHoursOfAll.With(sumOfAll{AgainSeconds: summedAgain.Seconds(), BackSeconds: hoursOfAll.Seconds()}).Exec(ctx, c.pool)
	do("sum up hours over all names", err)
	_, err = c.sql.MeasureSizes.Exec(ctx, c.pool)
	do("measure tables", err)
	old := keptFor{KeptSeconds: kept.Seconds()}
	do("drop old minutes", c.drop(ctx, c.sql.DropMinutes.With(dropCounts{keptFor: keptFor{KeptSeconds: minutesKept.Seconds()}, Limit: droppedAtOnce})))
	do("drop old hours", c.drop(ctx, c.sql.DropHours.With(dropCounts{keptFor: old, Limit: droppedAtOnce})))
	_, err = c.sql.DropLastSeen.With(old).Exec(ctx, c.pool)
	do("drop old last-seen times", err)
	_, err = c.sql.DropSizes.With(old).Exec(ctx, c.pool)
	do("drop old sizes", err)
	return errors.Join(errs...)
}

// drop deletes all expired counts. In a large installation, more than droppedAtOnce counts expire
// between two calls of Tidy.
func (c *Counts) drop(ctx context.Context, some statement.Bound) error {
	for {
		tag, err := some.Exec(ctx, c.pool)
		if err != nil || tag.RowsAffected() < droppedAtOnce {
			return err
		}
	}
}
