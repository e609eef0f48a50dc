package measure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sums holds the counts of a period, by kind, name and What.
type Sums map[Kind]map[string]map[What]int64

// Recent returns the counts of the minutes that began less than window ago. They lag by up to ten
// seconds.
func (r *Reader) Recent(ctx context.Context, window time.Duration) (Sums, error) {
	rows, err := r.sql.Recent.With(recent{WindowSeconds: window.Seconds()}).Query(ctx, r.counts)
	sums := Sums{}
	if err == nil {
		var kind Kind
		var name string
		var what What
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&kind, &name, &what, &n}, func() error {
			if sums[kind] == nil {
				sums[kind] = map[string]map[What]int64{}
			}
			if sums[kind][name] == nil {
				sums[kind][name] = map[What]int64{}
			}
			sums[kind][name][what] = n
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the last minutes: %w", err)
	}
	return sums, nil
}

// RecentOf is like Recent, but for one source or destination.
func (r *Reader) RecentOf(ctx context.Context, kind Kind, name string, window time.Duration) (map[What]int64, error) {
	rows, err := r.sql.RecentOf.With(recentOf{recent{WindowSeconds: window.Seconds()}, lastSeen{Kind: kind, Name: name}}).Query(ctx, r.counts)
	counts := map[What]int64{}
	if err == nil {
		var what What
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&what, &n}, func() error {
			counts[what] = n
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the last minutes of %s: %w", name, err)
	}
	return counts, nil
}

// LastSeen returns the time at which each count of one source or destination last increased.
func (r *Reader) LastSeen(ctx context.Context, kind Kind, name string) (map[What]time.Time, error) {
	rows, err := r.sql.LastSeen.With(lastSeen{Kind: kind, Name: name}).Query(ctx, r.counts)
	seen := map[What]time.Time{}
	if err == nil {
		var what What
		var at time.Time
		_, err = pgx.ForEachRow(rows, []any{&what, &at}, func() error {
			seen[what] = at
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read when %s was last counted: %w", name, err)
	}
	return seen, nil
}

// RefusedIn sums the refusals among counts.
func RefusedIn(counts map[What]int64) int64 {
	var sum int64
	for what, n := range counts {
		if strings.HasPrefix(string(what), refusedPrefix) {
			sum += n
		}
	}
	return sum
}

// ByHour returns the counts of each of the last hours, the current hour last, summed over all
// sources or destinations. Hours lag by five minutes.
func (r *Reader) ByHour(ctx context.Context, kind Kind, hours int, whats ...What) (map[What][]int64, error) {
	rows, err := r.sql.ByHour.With(byHour{Kind: kind, Hours: hours, Whats: whats}).Query(ctx, r.counts)
	series := map[What][]int64{}
	if err == nil {
		var hour time.Time
		var what What
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&hour, &what, &n}, func() error {
			series[what] = append(series[what], n)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the hourly counts: %w", err)
	}
	return series, nil
}

// UsualShare returns the usual ratio of the count part to the sum of the counts whole, over all
// sources or destinations. The usual ratio is the median of the last seven days, for the clock hour
// that contains the time half an hour ago. Nil: unknown.
func (r *Reader) UsualShare(ctx context.Context, kind Kind, part What, whole ...What) (*float64, error) {
	var share *float64
	if err := r.sql.UsualHour.With(usualHour{Kind: kind, Part: part, Whole: whole}).QueryRow(ctx, r.counts).Scan(&share); err != nil {
		return nil, fmt.Errorf("read the usual ratio of counts: %w", err)
	}
	return share, nil
}
