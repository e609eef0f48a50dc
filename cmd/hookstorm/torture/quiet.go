package torture

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

// quietPoll is how often an end is looked for.
const quietPoll = 250 * time.Millisecond

//go:embed query/unfinished.sql
var unfinishedSQL string

// unfinished is what is left to do.
type unfinished struct{ Events, Effects, Jobs, Listed int64 }

func (u unfinished) none() bool { return u == unfinished{} }

func (u unfinished) String() string {
	return fmt.Sprintf("%d events, %d effects and %d jobs are unfinished, and %d events of the list are missing", u.Events, u.Effects, u.Jobs, u.Listed)
}

// untilQuiet waits until nothing is left to do, or patience is over: then the
// checker says what was left. What waits for a person gets one.
func (w *world) untilQuiet(ctx context.Context, patience time.Duration) (unfinished, error) {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Minute)
	defer cancel()
	deadline := time.Now().Add(patience)
	said := time.Now()
	for {
		left, err := w.unfinished(ctx)
		if err != nil {
			return left, err
		}
		if left.none() || time.Now().After(deadline) {
			return left, nil
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			w.sayf("healing: %s", left)
			if err := w.operator.Unblock(ctx); err != nil {
				return left, err
			}
		}
		if !sleep(ctx, quietPoll) {
			return left, context.Cause(ctx)
		}
	}
}

func (w *world) unfinished(ctx context.Context) (left unfinished, err error) {
	err = w.primary.QueryRow(ctx, unfinishedSQL).Scan(&left.Events, &left.Effects, &left.Jobs)
	if err != nil {
		return left, fmt.Errorf("look for what is unfinished: %w", err)
	}
	missing, err := w.listed.Missing(ctx, w.primary)
	left.Listed = int64(missing)
	return left, err
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
