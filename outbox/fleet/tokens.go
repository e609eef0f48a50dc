package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
)

// TakeTokens takes n tokens of a destination's rate, which applies to all processes together. It
// returns the time that the caller must wait before it uses all n at once. If this wait is longer
// than the parameter patience, TakeTokens takes nothing and returns false. Otherwise a token would
// be lost if another process had the destination's next job. To keep the wait short, a process
// should have one caller at a time for each destination. After a quiet time, at most max(burst, n)
// tokens are free. A perSecond of 0 or less means no limit.
//
// The statement need not survive a server failure: if it is lost, the worst result is a burst.
//
// TakeTokens implements the generic cell rate algorithm (ITU-T I.371) by the database's clock.
// Errors: ErrUnavailable.
func (f *Fleet) TakeTokens(ctx context.Context, destination string, perSecond float64, burst, n int, patience time.Duration) (wait time.Duration, taken bool, err error) {
	if perSecond <= 0 || n <= 0 {
		return 0, true, nil
	}
	take := takeTokens{Destination: destination, TokenSeconds: 1 / perSecond, Burst: max(burst, n), Tokens: n, PatienceSeconds: patience.Seconds()}
	var seconds float64
	err = f.db.Statement("take_tokens", func(db pipeline.ByIndex) error {
		return f.sql.TakeTokens.With(take).QueryRow(ctx, db).Scan(&seconds, &taken)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows): // another process took the first token at the same time
		return min(patience, time.Duration(take.TokenSeconds*float64(time.Second))), false, nil
	case err != nil:
		return 0, false, fmt.Errorf("take tokens of %s: %w", destination, err)
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second))), taken, nil
}
