package life

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Effect is an effect with its attempts and transitions.
type Effect struct {
	ledger.Effect

	Attempts    []ledger.Attempt
	Transitions []ledger.Transition
	Suppressed  bool     // true if an earlier event created the effect
	ResentAs    []string // keys of the effects that repeat this effect; only ReadEffect sets them
}

// ReadEffect reads an effect by its original or rotated idempotency key. Errors:
// ledger.ErrNotFound.
func ReadEffect(ctx context.Context, o *outbox.Outbox, key string) (Effect, error) {
	effect, err := readEffect(ctx, o, key)
	if err == nil {
		effect.ResentAs, err = o.Ledger().Resends(ctx, effect.IdempotencyKey)
	}
	return effect, err
}

// readEffect reads an effect without its resends.
func readEffect(ctx context.Context, o *outbox.Outbox, key string) (Effect, error) {
	e, err := o.Ledger().Effect(ctx, key)
	if err != nil {
		return Effect{}, err
	}
	effect := Effect{Effect: e}
	if effect.Attempts, err = o.Ledger().Attempts(ctx, e.EffectID); err != nil {
		return Effect{}, err
	}
	if effect.Transitions, err = o.Ledger().Transitions(ctx, e.EffectID); err != nil {
		return Effect{}, err
	}
	return effect, nil
}

// Meaning describes an effect's state.
func Meaning(e ledger.Effect) string {
	switch e.State {
	case ledger.EffectPending:
		return "not applied yet, waiting for an attempt"
	case ledger.EffectStarted:
		return "an attempt is running"
	case ledger.EffectDone:
		return "the receiver confirmed it"
	case ledger.EffectFailed:
		return "the receiver refused it permanently"
	case ledger.EffectInDoubt:
		return "it may have been applied, and will be tried again under the same key"
	case ledger.EffectParked:
		return "set aside until an operator retries or cancels it"
	case ledger.EffectCancelled:
		if e.SupersededBy != "" {
			return "a newer effect for the same object was applied first"
		}
		return "an operator cancelled it"
	}
	return ""
}

// Ordered reports whether only an operator can cause the transition, because no effect leaves the
// transition's former state automatically.
func Ordered(t ledger.Transition) bool { return t.From != "" && t.From.Finished() }
