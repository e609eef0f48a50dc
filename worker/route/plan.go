package route

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// maxKey is the ledger's limit for a key, in bytes.
const maxKey = 255

// maxReason is the maximum length of the reason for which Plan parks an effect, in bytes.
const maxReason = 2048

// hashedKeyPrefix is the beginning of a hash that replaces a key: see ledgerKey.
const hashedKeyPrefix = "sha256:"

// Plan returns the effects of an event. It does no I/O and returns the same result for the same
// event and routes. For a replay of one route, Plan returns only the effect of that route.
//
// If a route cannot be evaluated for this event, its effect is parked with the reason; the route is
// never skipped silently. The event's other effects are planned as usual. Plan returns an error,
// and no effects, only if an evaluation took too long or was interrupted.
func (t *Table) Plan(ctx context.Context, e *inbox.Event) ([]ledger.NewEffect, error) {
	scope := t.scope(ctx, e)
	var effects []ledger.NewEffect
	for _, r := range t.routes {
		if !r.wants(string(e.Source), e.Type) || e.OnlyRoute != "" && e.OnlyRoute != r.Name {
			continue
		}
		fetched := e.Origin == identity.Backfill
		if fetched && r.Backfill == BackfillSkip {
			continue
		}
		effect, wanted, err := r.plan(scope)
		if isInterrupted(err) {
			return nil, r.failed(err)
		}
		if err != nil {
			effect.Request = ledger.Request{}
			effect.Parked = safetext.Line(r.failed(err).Error(), maxReason)
		}
		if fetched && err == nil && r.Backfill == BackfillPark {
			effect.Whole = true
			effect.Parked = "the event was fetched from the list of its provider, and the route has backfill: park"
		}
		if wanted || err != nil {
			effects = append(effects, effect)
		}
	}
	return effects, nil
}

// plan returns the route's effect, and whether the event meets the route's condition. If plan
// returns an error, the effect contains the fields that were determined before the error. These
// fields include the key under which Plan parks the effect.
func (r *compiledRoute) plan(scope *eventScope) (ledger.NewEffect, bool, error) {
	own := ledgerKey(string(scope.event.EventID))
	effect := ledger.NewEffect{
		EffectID: identity.EffectID{
			Scope:      identity.ScopeOfRoute(scope.event.Source, r.Name),
			Key:        identity.Key(own),
			Generation: scope.event.EffectGeneration,
		},
		Route:       r.Name,
		Destination: r.target.Name,
		Queue:       r.target.Queue,
		Policy:      r.target.Policy,
		OnPark:      r.OnPark,
		OccurredAt:  scope.view.OccurredAt,
	}
	if r.when != nil {
		yes, err := r.when.evalBool(scope)
		if err != nil {
			return effect, false, fmt.Errorf("when: %w", err)
		}
		if !yes {
			return effect, false, nil
		}
	}
	for _, k := range []struct {
		field string
		from  *expression
		into  *string
	}{{"key", r.key, &own}, {"order_by", r.orderBy, &effect.OrderKey}, {"latest_by", r.latestBy, &effect.LatestKey}} {
		if k.from == nil {
			continue
		}
		key, err := k.from.evalKey(scope)
		if err == nil && key == "" {
			err = errors.New("yields an empty string")
		}
		if err != nil {
			return effect, false, fmt.Errorf("%s: %w", k.field, err)
		}
		*k.into = ledgerKey(key)
		effect.Key = identity.Key(own)
	}
	if r.refetch != nil {
		effect.Request = ledger.Request{Late: true}
		return effect, true, nil
	}
	request, err := r.request.build(scope)
	if err != nil {
		return effect, false, err
	}
	effect.Request = request
	return effect, true, nil
}

// ledgerKey returns the key, or its hash if the ledger cannot store the key because it is longer
// than maxKey or not valid text. A key that looks like such a hash is hashed too, so that no event
// can choose another event's key.
func ledgerKey(key string) string {
	fits := len(key) <= maxKey && utf8.ValidString(key) && !strings.ContainsRune(key, 0)
	if fits && !strings.HasPrefix(key, hashedKeyPrefix) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hashedKeyPrefix + hex.EncodeToString(sum[:])
}
