package ledger

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

const (
	// maxUnanswered bounds the remembered claims. Those beyond it are in doubt when their lease
	// ends, like those of a process that died.
	maxUnanswered = 4096
	// unansweredPause is the wait before an unavailable database is tried again.
	unansweredPause = time.Second
)

// errUnanswered is recorded as the error of such an attempt.
var errUnanswered = errors.New("the answer to the claim was lost: the destination was not called")

// unanswered holds claims of this process that may be committed although no caller got the
// answer. The process knows that it called no receiver for them, so it takes them back as soon
// as the database answers. Otherwise an at_most_once effect would be parked at the end of its
// lease, for a doubt that does not exist.
type unanswered struct {
	takeBack func(context.Context, Claim) error
	logger   *slog.Logger

	mu      sync.Mutex
	claims  []Claim
	working bool
	closed  chan struct{}
	idle    chan struct{} // closed when no goroutine works
}

func newUnanswered(takeBack func(context.Context, Claim) error, logger *slog.Logger) *unanswered {
	u := &unanswered{takeBack: takeBack, logger: logger, closed: make(chan struct{}), idle: make(chan struct{})}
	close(u.idle)
	return u
}

// add takes a claim whose transactions have ended, committed or not.
func (u *unanswered) add(c Claim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.claims) == maxUnanswered {
		return
	}
	u.claims = append(u.claims, c)
	if !u.working {
		u.working = true
		u.idle = make(chan struct{})
		go u.work()
	}
}

// work returns when no claim is left, or, once closed, after one more try.
func (u *unanswered) work() {
	for {
		u.mu.Lock()
		claims := u.claims
		u.claims = nil
		if len(claims) == 0 {
			u.working = false
			close(u.idle)
			u.mu.Unlock()
			return
		}
		u.mu.Unlock()
		u.retry(claims)
	}
}

// retry keeps the claims that could not be taken back for the next round.
func (u *unanswered) retry(claims []Claim) {
	for i, c := range claims {
		err := u.takeBack(context.Background(), c)
		if err == nil {
			continue
		}
		if !errors.Is(err, commit.ErrUnavailable) {
			u.logger.Error("unanswered claim not taken back", slog.String(logkey.EffectKey, c.ID.IdempotencyKey()), slog.Any(logkey.Err, err))
			continue
		}
		timer := time.NewTimer(unansweredPause)
		select {
		case <-u.closed:
			timer.Stop()
			return // the lease decides
		case <-timer.C:
		}
		u.mu.Lock()
		u.claims = append(u.claims, claims[i:]...)
		u.mu.Unlock()
		return
	}
}

// stop waits until every claim is taken back or has failed.
func (u *unanswered) stop(ctx context.Context) error {
	u.mu.Lock()
	select {
	case <-u.closed:
	default:
		close(u.closed)
	}
	idle := u.idle
	u.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("unanswered claims are still being taken back"), ctx.Err())
	}
}

// takeBack settles the attempt of an unanswered claim as not applied. The lock on the row waits
// until no transaction of the claim is running.
func (l *Ledger) takeBack(ctx context.Context, c Claim) error {
	var taken bool
	err := l.db.Do(ctx, "take_back_claim", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if _, err := l.sql.LockEffect.With(c.ID).Exec(ctx, tx); err != nil {
			return err
		}
		e, err := l.effect(ctx, tx, c.ID.IdempotencyKey())
		if err != nil || e.State != EffectStarted {
			return err
		}
		e.claimID, e.jobWaits = c.ClaimID, c.JobID == 0 // with another claim's id nothing is settled
		settled, err := l.settleBatch(ctx, tx, []Settlement{{Effect: e, Verdict: VerdictNotApplied, Error: errUnanswered.Error()}})
		if err == nil {
			taken = !settled[0].Late
		}
		return err
	})
	if taken && err == nil {
		l.logger.WarnContext(ctx, "claim taken back: its answer was lost, and the destination was not called", slog.String(logkey.EffectKey, c.ID.IdempotencyKey()))
	}
	return err
}
