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
	Suppressed  bool // for the event it is shown with
}

// ReadEffect reads the effect of an idempotency key, or of one it had before its key
// was changed. Errors: ledger.ErrNotFound.
func ReadEffect(ctx context.Context, o *outbox.Outbox, key string) (Effect, error) {
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

// Meaning is what a state says about the effect.
func Meaning(e ledger.Effect) string {
	switch e.State {
	case ledger.EffectPending:
		return "not applied so far, waits for an attempt"
	case ledger.EffectStarted:
		return "an attempt runs"
	case ledger.EffectDone:
		return "the receiver confirmed it"
	case ledger.EffectFailed:
		return "the receiver refused it for good"
	case ledger.EffectInDoubt:
		return "it may have been applied, and is tried again under the same key"
	case ledger.EffectParked:
		return "waits for a person: retry or cancel it"
	case ledger.EffectCancelled:
		if e.SupersededBy != "" {
			return "a newer one of the same object was applied before"
		}
		return "given up"
	}
	return ""
}

// Ordered reports whether a transition is one that only a person orders: out of a
// state that nothing leaves by itself.
func Ordered(t ledger.Transition) bool { return t.From != "" && t.From.Finished() }
