package stage

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	quietPoll = 200 * time.Millisecond // pause between two checks for unfinished work
	tellEvery = 10 * time.Second
)

//go:embed query/unfinished.sql
var unfinishedSQL string

// Quiet defines when a run is finished.
type Quiet struct {
	Pool     *pgxpool.Pool
	Listed   *listed.Sender // sender whose events must all be stored
	Outcomes []string       // outcomes of unfinished events
	// Patience is the maximum time without a decrease in the unfinished work; 0 means no limit.
	Patience time.Duration
	// Meanwhile, if not nil, is called every ten seconds while work is unfinished.
	Meanwhile func(ctx context.Context) error
}

// Until waits until all work is finished. It gives up when the unfinished work has not decreased
// for Patience, ctx is done or Meanwhile fails. It returns the unfinished work. The checker reports
// the details.
func (s *Stage) Until(ctx context.Context, q Quiet) (left []string, err error) {
	told, fewest, progress := time.Now(), math.MaxInt, time.Now()
	for {
		left, err = q.left(context.WithoutCancel(ctx))
		if err == nil && len(left) == 0 {
			return nil, nil
		}
		if n := sum(left); err == nil && n < fewest {
			fewest, progress = n, time.Now()
		}
		if q.Patience > 0 && time.Since(progress) > q.Patience {
			return left, err
		}
		if time.Since(told) > tellEvery && q.Meanwhile != nil {
			told = time.Now()
			s.Sayf("left: %s", cmp.Or(strings.Join(left, ", "), fmt.Sprint(err)))
			if err := q.Meanwhile(ctx); err != nil {
				return left, err
			}
		}
		if retry.Wait(ctx, quietPoll) != nil {
			return left, err
		}
	}
}

// sum adds the numbers with which the parts of left begin.
func sum(left []string) (n int) {
	for _, part := range left {
		number, _, _ := strings.Cut(part, " ")
		count, _ := strconv.Atoi(number) // each part begins with a number
		n += count
	}
	return n
}

func (q Quiet) left(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tellEvery)
	defer cancel()
	rows, err := q.Pool.Query(ctx, unfinishedSQL, q.Outcomes)
	if err != nil {
		return nil, fmt.Errorf("look for unfinished work: %w", err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for unfinished work: %w", err)
	}
	missing, err := q.Listed.Missing(ctx, q.Pool)
	if missing > 0 {
		left = append(left, fmt.Sprintf("%d events of the list", missing))
	}
	return left, err
}
