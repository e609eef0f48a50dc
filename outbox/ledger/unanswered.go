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
	// maxUnanswered limits the remembered claims. The effects of further claims are in doubt when
	// their leases end, like those of a process that died.
	maxUnanswered = 4096
	// unansweredPause is the wait before the next try on an unavailable database.
	unansweredPause = time.Second
)

// errUnanswered is recorded as the error of an unanswered attempt.
var errUnanswered = errors.New("the answer to the claim was lost: the destination was not called")

// unanswered holds claims of this process that may be committed although no caller got the
// response. The process called no receiver for these claims, so it settles them as soon as the
// database responds. Otherwise an at_most_once effect would be parked at the end of its lease,
// although it was certainly not applied.
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

// add takes a claim whose transactions have ended, with or without a commit. It leaves out a claim
// that its caller repeats. A repetition may start an attempt with the same ClaimID, and a
// settlement could end this attempt while it calls its receiver.
func (u *unanswered) add(c Claim) {
	if c.Repeated {
		return
	}
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

// work settles claims until none is left. After stop, it also returns when a try finds the database
// unavailable.
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

// retry settles claims. If the database is unavailable, it pauses and puts the remaining claims
// back for the next round. The claim that failed goes to the end, because a lock on its effect may
// be the only cause. After stop, retry drops the remaining claims instead.
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
			return // these claims are resolved when their leases end
		case <-timer.C:
		}
		u.mu.Lock()
		u.claims = append(append(u.claims, claims[i+1:]...), c)
		u.mu.Unlock()
		return
	}
}

// stop waits until every claim is settled or dropped, or ctx is done.
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

// takeBack settles an unanswered claim's attempt as not applied. It waits for the effect's row
// lock, so no transaction of the claim is still running then.
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
		e.claimID, e.jobWaits = c.ClaimID, c.JobID == 0 // if another claim holds the effect, the settlement matches no row
		settled, err := l.settleBatch(ctx, tx, []*Settlement{{Effect: e, Verdict: VerdictNotApplied, Error: errUnanswered.Error()}})
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
