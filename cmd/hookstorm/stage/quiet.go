package stage

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	quietPoll = 200 * time.Millisecond // between looks at what is left to do
	tellEvery = 10 * time.Second
)

//go:embed query/unfinished.sql
var unfinishedSQL string

// Quiet says when a run has come to its end.
type Quiet struct {
	Pool     *pgxpool.Pool
	Listed   *listed.Sender // whose events must all be stored
	Outcomes []string       // of events that are not at their end
	// Meanwhile is called every ten seconds while something is left. Nil: nothing is.
	Meanwhile func(ctx context.Context) error
}

// Until waits until nothing is left to do or ctx is done, and returns what is left then:
// the checker says more.
func (s *Stage) Until(ctx context.Context, q Quiet) (left []string, err error) {
	told := time.Now()
	for {
		left, err = q.left(context.WithoutCancel(ctx))
		if err == nil && len(left) == 0 {
			return nil, nil
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

func (q Quiet) left(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tellEvery)
	defer cancel()
	rows, err := q.Pool.Query(ctx, unfinishedSQL, q.Outcomes)
	if err != nil {
		return nil, fmt.Errorf("look for what is unfinished: %w", err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for what is unfinished: %w", err)
	}
	missing, err := q.Listed.Missing(ctx, q.Pool)
	if missing > 0 {
		left = append(left, fmt.Sprintf("%d events of the list", missing))
	}
	return left, err
}
