package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The verdicts that claim.sql returns for an effect. Its verdict none has no constant: the effect
// is then unchanged, and its state determines the ClaimStatus.
const (
	verdictGrant    = "grant"    // the attempt starts
	verdictPark     = "park"     // the effect is parked
	verdictPause    = "pause"    // unchanged: its destination is paused
	verdictWithhold = "withhold" // unchanged: no operator has confirmed the restored or promoted database
	verdictTurn     = "turn"     // unchanged: its order must be checked first
)

// claimAnswer is a Claimed as read from its row.
type claimAnswer struct {
	Claimed

	verdict string
	lost    bool // an attempt outlived its lease
}

// claimBatch runs the first half of T3 for all claims of a batch. Ordered effects take two rounds.
// The first round locks their rows. The second round locks and checks their orders, and starts the
// effects whose turn it is.
func (l *Ledger) claimBatch(ctx context.Context, tx pgx.Tx, batch []Claim) ([]*Claimed, error) {
	distinct := make([]Claim, 0, len(batch))
	asked := make(map[identity.EffectID]bool, len(batch))
	for _, c := range batch {
		if !asked[c.ID] { // if a batch has two claims of an effect, only the first is made
			asked[c.ID] = true
			distinct = append(distinct, c)
		}
	}
	answers, err := l.claimRound(ctx, tx, distinct, false)
	if err != nil {
		return nil, err
	}
	if err := l.takeTurns(ctx, tx, distinct, answers); err != nil {
		return nil, err
	}
	results := make([]*Claimed, len(batch))
	for i, c := range batch {
		result := Claimed{Status: ClaimMissing, Effect: Effect{EffectID: c.ID}}
		if answer := answers[c.ID]; answer != nil {
			result = answer.Claimed // a copy, because two claims of the batch may have the same effect
			if answer.verdict == verdictGrant && result.Effect.claimID == c.ClaimID {
				result.Status, result.Effect.jobWaits = ClaimGranted, c.JobID == 0
			}
		}
		results[i] = &result
	}
	return results, nil
}

// claimRow is a claim as claim.sql reads it.
type claimRow struct {
	identity.EffectID

	AskedBy       uuid.UUID
	LeaseSeconds  float64
	AskedJob      int64
	FirstMethod   string
	FirstURL      string
	FirstHeaders  []byte
	KeyTTLSeconds float64
	IsProbe       bool
	HasTurn       bool
}

type claimArgs struct{ Asked []claimRow }

// claimRound starts or parks effects as claim.sql decides, and returns the answer for each effect
// that exists. hasTurn means that the orders of all these effects have been checked.
func (l *Ledger) claimRound(ctx context.Context, tx pgx.Tx, batch []Claim, hasTurn bool) (map[identity.EffectID]*claimAnswer, error) {
	asked := make([]claimRow, 0, len(batch))
	for _, c := range batch {
		encoded, err := column.Headers(c.FirstRequest.Headers)
		if err != nil {
			return nil, fmt.Errorf("encode headers: %w", err)
		}
		asked = append(asked, claimRow{
			EffectID:      c.ID,
			AskedBy:       c.ClaimID,
			LeaseSeconds:  c.Lease.Seconds(),
			AskedJob:      c.JobID,
			FirstMethod:   c.FirstRequest.Method,
			FirstURL:      c.FirstRequest.URL,
			FirstHeaders:  encoded,
			KeyTTLSeconds: c.KeyTTL.Seconds(),
			IsProbe:       c.Probe,
			HasTurn:       hasTurn,
		})
	}
	rows, err := l.sql.Claim.With(claimArgs{Asked: asked}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("claim effects: %w", err)
	}
	collected, err := pgx.CollectRows(rows, scanClaimed)
	if err != nil {
		return nil, fmt.Errorf("claim effects: %w", err)
	}
	answers := make(map[identity.EffectID]*claimAnswer, len(collected))
	for _, answer := range collected {
		answers[answer.Effect.EffectID] = answer
	}
	return answers, nil
}

// scanClaimed scans a row of claim.sql. A granted attempt has the status ClaimLeased until
// claimBatch has compared the claim's id.
func scanClaimed(row pgx.CollectableRow) (*claimAnswer, error) {
	answer := &claimAnswer{}
	var claimID *uuid.UUID
	var received *time.Time
	var apart bool
	e, err := scanEffect(row, &claimID, &answer.verdict, &answer.lost, &answer.OwnFault, &apart, &received)
	if err != nil {
		return nil, err
	}
	e.claimID, e.EventReceivedAt, e.bodyApart = column.OrZero(claimID), column.OrZero(received), apart
	answer.Effect = e
	switch {
	case answer.verdict == verdictPark:
		answer.Status = ClaimParked
	case answer.verdict == verdictPause:
		answer.Status = ClaimPaused
	case answer.verdict == verdictWithhold:
		answer.Status, answer.Withheld = ClaimPaused, true
	case e.State == EffectStarted:
		answer.Status = ClaimLeased
	case e.State == EffectCancelled && e.SupersededBy != "":
		answer.Status = ClaimSuperseded
	case e.State.Finished():
		answer.Status = ClaimFinished
	default:
		answer.Status = ClaimNotDue
	}
	return answer, nil
}
