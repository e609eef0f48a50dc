package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// transact runs f in a transaction of its own, for what is too rare or too long
// to share one, and commits it. Like a group commit it tries again on a fresh
// connection after a transient fault, somebody's lock or an unknown outcome,
// until timeout is over; ctx does not cancel it. repeated says that an earlier
// try may have been committed: f must recognise its own rows. Errors:
// ErrUnavailable, and what f returns.
func (o *Outbox) transact(ctx context.Context, timeout time.Duration, f func(ctx context.Context, tx pgx.Tx, repeated bool) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	repeated := false
	for pause := firstRetryPause; ; pause = min(2*pause, maxRetryPause) {
		settings := shared(lockTimeout)
		settings.confirm = repeated
		err := inTransaction(ctx, o.pool, settings, func(tx pgx.Tx) error { return f(ctx, tx, repeated) })
		if err == nil || !isTransient(err) && !isLockWait(err) {
			return err
		}
		repeated = repeated || isAmbiguous(err)
		if isReadOnly(err) {
			o.pool.Reset()
		}
		timer := time.NewTimer(jitter(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
}
