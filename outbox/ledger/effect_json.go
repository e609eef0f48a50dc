package ledger

import (
	"time"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// MarshalJSON writes the fields that operators and API clients see. An unset time is null, except
// that an unset occurred_at or erased_at is left out. The time of the next attempt is set only
// while the effect waits for an attempt.
func (e Effect) MarshalJSON() ([]byte, error) {
	type fields Effect // without this method
	shown := struct {
		fields
		*identity.EventRef // only for effects created by an event

		Method            string     `json:"method,omitzero"`
		URL               string     `json:"url,omitzero"`
		FirstAttemptAt    *time.Time `json:"first_attempt_at"`
		LastAttemptAt     *time.Time `json:"last_attempt_at"`
		NextAttemptAt     *time.Time `json:"next_attempt_at"`
		LeaseUntil        *time.Time `json:"lease_until"`
		MaybeAppliedSince *time.Time `json:"maybe_applied_since"`
		FinishedAt        *time.Time `json:"finished_at"`
	}{
		fields: fields(e), Method: e.Request.Method, URL: e.Request.URL,
		FirstAttemptAt: plainjson.OrNull(e.FirstAttemptAt), LastAttemptAt: plainjson.OrNull(e.LastAttemptAt), LeaseUntil: plainjson.OrNull(e.LeaseUntil),
		MaybeAppliedSince: plainjson.OrNull(e.MaybeAppliedSince), FinishedAt: plainjson.OrNull(e.FinishedAt),
	}
	if e.Event != (identity.EventRef{}) {
		shown.EventRef = &e.Event
	}
	if e.State == EffectPending || e.State == EffectInDoubt {
		shown.NextAttemptAt = plainjson.OrNull(e.NextAttemptAt)
	}
	if e.OrderKey == "" {
		shown.OnPark = ""
	}
	if e.LatestKey == "" {
		shown.OccurredAt = time.Time{}
	}
	return plainjson.Marshal(shown)
}
