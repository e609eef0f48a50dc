package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/internal/throttle"
)

// orderBatch is how many effects share a transaction of an order about many.
const orderBatch = 200

// EffectsPreview is what an order about many effects would be done to.
type EffectsPreview struct {
	AsOf     time.Time // for EffectSelection.AsOf of the order
	Selected int64     // what it would be done to
	// InDoubt counts those that may have been applied: they are among Selected
	// with EffectSelection.InDoubt, and left out without.
	InDoubt int64
	// Unrendered counts those left out of a retry because there is nothing to
	// send: their events are to be replayed.
	Unrendered int64
	// Unclear counts those left out because Match failed, the first time with
	// WhyUnclear.
	Unclear    int64
	WhyUnclear error
}

// EffectsProgress is how far an order about many effects has come.
type EffectsProgress struct {
	EffectsPreview // what was looked at so far

	Changed int64 // what it was done to: others had moved on by then
	Last    string
}

// EffectsPace bounds an order about many effects.
type EffectsPace struct {
	PerSecond float64 // effects per second; 0: as fast as it goes
	// Progress is called after each batch, and while none is found. Nil: nobody.
	Progress func(EffectsProgress)
}

// ActOnEffects does an action to the effects of a selection, in the order they
// were made, in batches that are each a transaction with its row of the operator
// log. It ends when all are through or ctx is done; what was done by then stays
// done, and the same call with the same AsOf goes on with the rest.
func (l *Ledger) ActOnEffects(ctx context.Context, action Action, s EffectSelection, by Operator, pace EffectsPace) (EffectsProgress, error) {
	var seen EffectsProgress
	err := errors.Join(s.Validate(action), by.Validate())
	if err == nil && s.InDoubt && strings.TrimSpace(by.Reason) == "" {
		err = errors.New("effects that may have been applied are not taken without a reason")
	}
	if err != nil {
		return seen, fmt.Errorf("%s: %w", action, err)
	}
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	if s, err = l.Fixed(ctx, s); err != nil {
		return seen, fmt.Errorf("%s: %w", action, err)
	}
	size := orderBatch
	if pace.PerSecond > 0 {
		size = int(min(max(pace.PerSecond, 1), orderBatch))
	}
	pacer := throttle.New(pace.PerSecond / float64(size))
	defer pacer.Stop()
	err = l.EachBatch(ctx, action, s, Place{}, &seen.EffectsPreview, size, func(batch []SelectedEffect, _ Place) error {
		if len(batch) > 0 {
			if err := pacer.Wait(ctx); err != nil {
				return err
			}
			changed, err := l.actOnBatch(ctx, action, s, by, batch)
			if err != nil {
				return err
			}
			seen.Changed += changed
			seen.Last = batch[len(batch)-1].IdempotencyKey
		}
		if pace.Progress != nil {
			pace.Progress(seen)
		}
		return nil
	})
	if err != nil {
		return seen, fmt.Errorf("%s: %w", action, err)
	}
	return seen, nil
}

// EachBatch calls do with the effects an action is to be done to, from a place on and in
// the order they were made: at most size at a time, each batch with the place that it
// reaches to, and with none after each slice of what was looked at. It counts into seen
// before; an error of do ends it.
func (l *Ledger) EachBatch(ctx context.Context, action Action, s EffectSelection, from Place, seen *EffectsPreview, size int, do func([]SelectedEffect, Place) error) error {
	s, err := l.Fixed(ctx, s)
	if err != nil {
		return err
	}
	seen.AsOf = s.AsOf
	at := from
	if at.at.Before(s.From) {
		at = Place{at: s.From}
	}
	for more := true; more; {
		var found []SelectedEffect
		if found, at, more, err = l.slice(ctx, s, at); err != nil {
			return err
		}
		for batch := range slices.Chunk(found, min(size, selectionSlice)) {
			taken, err := l.take(ctx, action, s, seen, batch)
			if err != nil {
				return err
			}
			if len(taken) == 0 {
				continue
			}
			last := batch[len(batch)-1]
			if err := do(taken, Place{at: last.CreatedAt, key: last.IdempotencyKey}); err != nil {
				return err
			}
		}
		if err := do(nil, at); err != nil {
			return err
		}
	}
	return nil
}

// take counts what was selected, and returns what is left of it.
func (l *Ledger) take(ctx context.Context, action Action, s EffectSelection, seen *EffectsPreview, found []SelectedEffect) ([]SelectedEffect, error) {
	var taken []SelectedEffect
	for _, e := range found {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if s.Match != nil {
			if e.Event == (identity.EventRef{}) {
				continue
			}
			yes, unclear, err := s.Match(ctx, e.Event)
			if err != nil {
				return nil, err
			}
			if unclear != nil {
				seen.Unclear++
				seen.WhyUnclear = cmp.Or(seen.WhyUnclear, unclear)
				continue
			}
			if !yes {
				continue
			}
		}
		if e.unrendered && action == ActionRetryEffect {
			seen.Unrendered++
			continue
		}
		if e.inDoubt {
			seen.InDoubt++
			if !s.InDoubt {
				continue
			}
		}
		seen.Selected++
		taken = append(taken, e)
	}
	return taken, nil
}

// errNothingLeft rolls a batch back that changed nothing, with its record.
var errNothingLeft = errors.New("all of them moved on")

// actOnBatch does an action to effects in one transaction and counts those that
// were still what they were when they were selected.
func (l *Ledger) actOnBatch(ctx context.Context, action Action, s EffectSelection, by Operator, batch []SelectedEffect) (int64, error) {
	what := Instruction{Action: action, Target: batch[0].IdempotencyKey, Filter: s.Concealed(by.RequestID).Record()}
	if len(batch) > 1 {
		what.Target += fmt.Sprintf(" and the next %d", len(batch)-1)
	}
	var changed int64
	err := l.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (Consequence, error) {
		came, err := l.ActOnTx(ctx, tx, action, s, by, batch)
		if err == nil && came.Affected == 0 {
			err = errNothingLeft
		}
		changed = came.Affected
		return came, err
	})
	if err != nil && !errors.Is(err, errNothingLeft) {
		return 0, err
	}
	return changed, nil
}

// ActOnTx does an action to a batch of a selection in a transaction of the caller's, which
// records who ordered it. What is no longer what it was when it was selected is left
// alone.
func (l *Ledger) ActOnTx(ctx context.Context, tx pgx.Tx, action Action, s EffectSelection, by Operator, batch []SelectedEffect) (Consequence, error) {
	chosen := chosenEffects{States: s.States, FinishedUntil: column.TimeOrNull(s.AsOf)}
	for _, e := range batch {
		chosen.IdempotencyKeys, chosen.madeIn = append(chosen.IdempotencyKeys, e.IdempotencyKey), chosen.with(e.CreatedAt)
	}
	return l.change(ctx, tx, action, chosen, s.DoubtSince, by)
}

func wordsOf(states []EffectState) string {
	words := make([]string, len(states))
	for i, state := range states {
		words[i] = string(state)
	}
	return strings.Join(words, ", ")
}
