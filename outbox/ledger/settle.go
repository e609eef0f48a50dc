package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Settlement is an attempt's outcome.
type Settlement struct {
	Effect   Effect // as Claim returned it
	Verdict  Verdict
	Duration time.Duration // the attempt's duration

	ResponseStatus  int    // 0 without a response
	ResponseExcerpt string // at most 2 KiB are kept
	Error           string // one line; empty when done
	// RetryIn is the wait before the next attempt, if one follows.
	RetryIn time.Duration
	// GiveUp parks the effect instead of scheduling another attempt, because its attempts are used
	// up. An effect that was turned away and is not in doubt fails instead.
	GiveUp bool
	// Unauthorized is true if the response indicates that the receiver refused the credentials.
	// Such responses alone do not show whether the effect or its destination is at fault.
	Unauthorized bool
	// Uncounted is true if the attempt does not count toward the attempt limit, because another
	// process has to send the request. A probe does not need Uncounted, because its claim decides
	// whether the probe counts.
	Uncounted bool
	// RotateKey gives the next attempt another key, because the receiver stored an error under this
	// key and replays it. The ledger records each attempt's key. RotateKey is ignored when the
	// effect is done or failed.
	RotateKey bool
	// EndsJob is true if the job's run has no work left once the effect is done. The job is then
	// deleted. Otherwise River completes the job.
	EndsJob bool
	// KeepsJob applies to an attempt that no job executes. If KeepsJob is true, the effect's
	// waiting job is completed once the effect is done. Otherwise the job is deleted.
	KeepsJob bool
}

// Settled is the result of a Settlement.
type Settled struct {
	// Late is true if the attempt had lost its lease to another attempt, or an operator cancelled
	// or parked the effect. Nothing was changed.
	Late          bool
	State         EffectState // current state of the effect, even if Late
	NextAttemptAt time.Time   // if State is pending or in_doubt
}

// next returns the effect's state after the attempt, and whether the attempt was applied: yes, no
// or unknown. The package documentation has the table of states.
func (s *Settlement) next() (state EffectState, applied string) {
	doubt := !s.Effect.MaybeAppliedSince.IsZero()
	switch s.Verdict {
	case VerdictDone:
		return EffectDone, "yes"
	case VerdictRefused:
		if doubt {
			// The refusal may be a consequence of an earlier applied attempt.
			return EffectParked, "no"
		}
		return EffectFailed, "no"
	case VerdictTurnedAway, VerdictNotApplied:
		switch {
		case s.GiveUp && s.Verdict == VerdictTurnedAway && !doubt:
			return EffectFailed, "no"
		case s.GiveUp:
			return EffectParked, "no"
		case doubt:
			return EffectInDoubt, "no"
		}
		return EffectPending, "no"
	case VerdictMaybeApplied:
	}
	if s.GiveUp || s.Effect.Policy == AtMostOnce {
		return EffectParked, "unknown"
	}
	return EffectInDoubt, "unknown"
}

func (s *Settlement) validate() error {
	switch {
	case s.Effect.claimID == uuid.Nil:
		return errors.New("the effect was not claimed")
	case s.Verdict < VerdictDone || s.Verdict > VerdictMaybeApplied:
		return fmt.Errorf("unknown verdict %d", s.Verdict)
	case s.RetryIn < 0:
		return errors.New("negative wait for the next attempt")
	}
	return nil
}

// Settle records an attempt's outcome, in a transaction that it may share with others. The commit
// does not depend on ctx, because the job's context may have ended. Errors: ErrBusy,
// ErrUnavailable, ErrClosed.
func (l *Ledger) Settle(ctx context.Context, s Settlement) (Settled, error) {
	if err := s.validate(); err != nil {
		return Settled{}, fmt.Errorf("settle effect: %w", err)
	}
	settled, err := l.settlements.Submit(context.WithoutCancel(ctx), &s)
	if err != nil {
		return Settled{}, fmt.Errorf("settle effect: %w", err)
	}
	return settled, nil
}

// attemptID identifies one attempt of an effect.
type attemptID struct {
	identity.EffectID

	Attempt int
}

func (s *Settlement) attempt() attemptID {
	return attemptID{EffectID: s.Effect.EffectID, Attempt: s.Effect.Attempt}
}

// endedRow is a settlement as settle.sql reads it.
type endedRow struct {
	attemptID

	ClaimID         uuid.UUID
	NewState        EffectState
	Applied         string
	DurationSeconds float64
	RetrySeconds    float64
	ResponseStatus  *int
	ResponseExcerpt string
	Error           string
	RotateKey       bool
	Unauthorized    bool
	Uncounted       bool
	JobWaits        bool
	JobEnds         bool
	JobStays        bool
	JobMetadata     []byte // JSON; nil unless a fallback job continues or is kept
	JobTags         string
}

type settleArgs struct{ Ended []endedRow }

// attemptOf is an attempt and its claim.
type attemptOf struct {
	attemptID

	ClaimID uuid.UUID
}

type settledBefore struct{ Ended []attemptOf }

// settleBatch runs the second half of T3 for all settlements of a batch.
func (l *Ledger) settleBatch(ctx context.Context, tx pgx.Tx, batch []*Settlement) ([]Settled, error) {
	ended := make([]endedRow, 0, len(batch))
	for _, s := range batch {
		state, applied := s.next()
		var status *int
		if s.ResponseStatus != 0 {
			status = &s.ResponseStatus
		}
		row := endedRow{
			attemptID:       s.attempt(),
			ClaimID:         s.Effect.claimID,
			NewState:        state,
			Applied:         applied,
			DurationSeconds: s.Duration.Seconds(),
			RetrySeconds:    s.RetryIn.Seconds(),
			ResponseStatus:  status,
			ResponseExcerpt: safetext.Excerpt(s.ResponseExcerpt, maxExcerptLen),
			Error:           column.Reason(s.Error),
			RotateKey:       s.RotateKey,
			Unauthorized:    s.Unauthorized,
			Uncounted:       s.Uncounted,
			JobWaits:        s.Effect.jobWaits,
			JobEnds:         s.EndsJob && state == EffectDone,
			JobStays:        s.KeepsJob,
		}
		if e := &s.Effect; e.jobWaits && (state != EffectDone || s.KeepsJob) {
			row.JobMetadata, row.JobTags = l.jobs.Labels(riverjob.EffectJob{
				ID: e.EffectID, Destination: e.Destination, Event: e.Event, EventType: e.EventType, Traceparent: e.Traceparent,
			})
		}
		ended = append(ended, row)
	}
	rows, err := l.sql.Settle.With(settleArgs{Ended: ended}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("settle effects: %w", err)
	}
	settled := make(map[attemptID]Settled, len(batch))
	if err := collectSettled(rows, settled); err != nil {
		return nil, fmt.Errorf("settle effects: %w", err)
	}
	var places []place
	for _, s := range batch {
		if _, now := settled[s.attempt()]; now {
			places = append(places, s.Effect.place())
		}
	}
	if err := l.wakeNext(ctx, tx, places, false); err != nil {
		return nil, err
	}
	if len(settled) < len(batch) {
		attempts := make([]attemptOf, 0, len(batch))
		for _, s := range batch {
			attempts = append(attempts, attemptOf{attemptID: s.attempt(), ClaimID: s.Effect.claimID})
		}
		rows, err := l.sql.SettledBefore.With(settledBefore{Ended: attempts}).Query(ctx, tx)
		if err != nil {
			return nil, fmt.Errorf("look up attempts that were not settled: %w", err)
		}
		if err := collectSettled(rows, settled); err != nil {
			return nil, fmt.Errorf("look up attempts that were not settled: %w", err)
		}
	}
	results := make([]Settled, len(batch))
	for i, s := range batch {
		result, found := settled[s.attempt()]
		if !found {
			result = Settled{Late: true, State: s.Effect.State}
		}
		results[i] = result
	}
	return results, nil
}

func collectSettled(rows pgx.Rows, settled map[attemptID]Settled) error {
	var id attemptID
	var s Settled
	_, err := pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &id.Generation, &id.Attempt, &s.State, &s.NextAttemptAt, &s.Late}, func() error {
		settled[id] = s
		return nil
	})
	return err
}
