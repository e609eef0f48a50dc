package fleet

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hooklatch/hooklatch/internal/pipeline"
)

// TakeTokens takes n tokens of a destination's rate, which holds for all
// processes together, and returns how long to wait before they may be used, all
// n at once. The tokens are taken whatever the wait is: to keep it short, a
// process has one caller at a time for each destination. At most burst tokens
// are free at once after a quiet time. perSecond of 0 or less is no limit.
//
// It is not one of the transactions that must survive: tokens that are lost with
// the server let a burst through at worst.
//
// It is the generic cell rate algorithm by the database's clock (ITU-T I.371).
// Errors: ErrUnavailable.
func (f *Fleet) TakeTokens(ctx context.Context, destination string, perSecond float64, burst, n int) (wait time.Duration, err error) {
	if perSecond <= 0 || n <= 0 {
		return 0, nil
	}
	var seconds float64
	err = f.db.Statement("take_tokens", func(db pipeline.ByIndex) error {
		take := takeTokens{Destination: destination, TokenSeconds: 1 / perSecond, Burst: max(burst, n), Tokens: n}
		return f.sql.TakeTokens.With(take).QueryRow(ctx, db).Scan(&seconds)
	})
	if err != nil {
		return 0, fmt.Errorf("take tokens of %s: %w", destination, err)
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second))), nil
}
