package measure

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Lately holds the recent counts of one name.
type Lately struct {
	Hour map[What]int64 // in the last 60 minutes
	Day  map[What]int64 // in the last 24 clock hours, including the current one; lags by five minutes
}

// ByName returns the recent counts of every name of a kind, or of a single name if the parameter
// name is not empty. A name without counts is omitted.
func (r *Reader) ByName(ctx context.Context, kind Kind, name string) (map[string]Lately, error) {
	rows, err := r.sql.ByName.With(lastSeen{Kind: kind, Name: name}).Query(ctx, r.counts)
	found := map[string]Lately{}
	if err == nil {
		var of string
		var what What
		var hour, day int64
		_, err = pgx.ForEachRow(rows, []any{&of, &what, &hour, &day}, func() error {
			if _, known := found[of]; !known {
				found[of] = Lately{Hour: map[What]int64{}, Day: map[What]int64{}}
			}
			found[of].Hour[what], found[of].Day[what] = hour, day
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the counts of the last day: %w", err)
	}
	return found, nil
}
