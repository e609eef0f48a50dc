package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

// dropDetails drops the expired days of links, attempts and transitions. Rows that are still needed
// stay in their day. A day in which an unfinished attempt began stays, because the attempt's end is
// written to that day.
func (r *run) dropDetails(ctx context.Context, t *task) error {
	var events []int64
	for _, whole := range []string{wholeAttempts, wholeTransitions, wholeLinks} {
		days, err := r.partitions(ctx, whole)
		if err != nil {
			return err
		}
		for _, p := range days {
			if p.end().After(t.before) {
				if t.oldest.Before(t.horizon) || p.day.Before(t.oldest) {
					t.oldest = p.day
				}
				break
			}
			if r.over(ctx) {
				return nil
			}
			if whole == wholeLinks && events == nil {
				if events, err = r.keptEvents(ctx); err != nil {
					return err
				}
			}
			if err := r.dropDetailsOf(ctx, t, p, events); err != nil {
				return err
			}
			if r.order.Progress != nil {
				r.order.Progress(t.part())
			}
		}
	}
	return nil
}

// dropDetailsOf drops a day, or deletes all rows of the day that are not needed.
func (r *run) dropDetailsOf(ctx context.Context, t *task, p partition, events []int64) error {
	numbers, unended := events, false
	if p.whole != wholeLinks {
		var err error
		if numbers, unended, err = r.outliving(ctx, p); err != nil {
			return err
		}
	}
	if len(numbers) == 0 && !unended {
		if err := r.detach(ctx, p); err != nil {
			return err
		}
		t.rows, t.size = t.rows+p.rows, t.size+p.bytes
		return r.drop(ctx, p)
	}
	if !p.thin {
		if err := r.detach(ctx, p); err != nil {
			return err
		}
	}
	left, err := r.thin(ctx, p, numbers)
	if err != nil {
		return err
	}
	if !p.thin {
		t.rows, t.size = t.rows+max(p.rows-left, 0), t.size+p.bytes
	}
	t.kept += left
	if left > 0 || unended {
		return nil
	}
	p.attached, p.pending = true, false
	if err := r.detach(ctx, p); err != nil {
		return err
	}
	return r.drop(ctx, p)
}

// outliving returns the stored effects that may have rows in a day. unended is true if one of these
// effects has a running attempt that began on that day.
func (r *run) outliving(ctx context.Context, p partition) (numbers []int64, unended bool, err error) {
	rows, err := r.sql.Outliving.With(outliving{From: p.day, Until: p.end()}).Query(ctx, byIndex(r))
	if err != nil {
		return nil, false, fmt.Errorf("look for effects that outlive the day: %w", err)
	}
	var number int64
	var began bool
	_, err = pgx.ForEachRow(rows, []any{&number, &began}, func() error {
		numbers, unended = append(numbers, number), unended || began
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("look for effects that outlive the day: %w", err)
	}
	return numbers, unended, nil
}

// keptEvents returns the events that are kept beyond their retention.
func (r *run) keptEvents(ctx context.Context) ([]int64, error) {
	rows, err := r.sql.KeptEvents.Query(ctx, byIndex(r))
	if err != nil {
		return nil, fmt.Errorf("list kept events: %w", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("list kept events: %w", err)
	}
	return events, nil
}

// thin deletes all rows of a day except rows of the given effects or events. It returns the number
// of rows left.
func (r *run) thin(ctx context.Context, p partition, numbers []int64) (left int64, err error) {
	if numbers == nil {
		numbers = []int64{}
	}
	limits := commit.Limits{Statement: needTimeout, Timeout: needTimeout, Recurring: true}
	err = r.db.Do(ctx, "thin_day", limits, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		return r.sql.ThinDay.With(thinDay{Whole: p.whole, Day: p.day, Numbers: numbers}).QueryRow(ctx, tx).Scan(&left)
	})
	if err != nil {
		return 0, fmt.Errorf("delete the unneeded rows of %s of %s: %w", p.day.Format(time.DateOnly), p.whole, err)
	}
	return left, nil
}
