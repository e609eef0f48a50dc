package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/outbox"
)

// maxKey is what the ledger takes, in bytes.
const maxKey = 255

// hashedKeyPrefix marks the key that replaces one the ledger cannot hold.
const hashedKeyPrefix = "sha256:"

// plan decides which effects an event has. It is a pure function: no I/O, no
// clock, the same answer for the same event and routes. An expression that
// cannot be evaluated is an error, never a route that silently does not match.
func plan(e *outbox.Event, table *routeTable) ([]outbox.NewEffect, error) {
	scope := newEventScope(e)
	var effects []outbox.NewEffect
	for _, r := range table.routes {
		if !r.wants(e.Source, e.Type) {
			continue
		}
		effect, wanted, err := r.plan(scope)
		if err != nil {
			return nil, fmt.Errorf("route %q: %w", r.Name, err)
		}
		if wanted {
			effects = append(effects, effect)
		}
	}
	return effects, nil
}

func (r *compiledRoute) plan(scope *eventScope) (outbox.NewEffect, bool, error) {
	if r.when != nil {
		yes, err := r.when.evalBool(scope)
		if err != nil {
			return outbox.NewEffect{}, false, fmt.Errorf("when: %w", err)
		}
		if !yes {
			return outbox.NewEffect{}, false, nil
		}
	}
	key := scope.event.EventID
	if r.key != nil {
		var err error
		if key, err = r.key.evalKey(scope); err != nil {
			return outbox.NewEffect{}, false, fmt.Errorf("key: %w", err)
		}
		if key == "" {
			return outbox.NewEffect{}, false, errors.New("key: yields an empty string")
		}
	}
	request, err := r.request.build(scope)
	if err != nil {
		return outbox.NewEffect{}, false, err
	}
	return outbox.NewEffect{
		EffectID: outbox.EffectID{
			Scope:      outbox.ScopeOfRoute(scope.event.Source, r.Name),
			Key:        ledgerKey(key),
			Generation: scope.event.EffectGeneration,
		},
		Route:       r.Name,
		Destination: r.destination.Name,
		Queue:       r.destination.Queue,
		Policy:      r.destination.Policy,
		Request:     request,
	}, true, nil
}

// ledgerKey replaces a key that a text column of at most maxKey bytes cannot
// hold by its hash. A key that looks like such a hash is hashed too, so that
// no event can choose the key of another.
func ledgerKey(key string) string {
	fits := len(key) <= maxKey && utf8.ValidString(key) && !strings.ContainsRune(key, 0)
	if fits && !strings.HasPrefix(key, hashedKeyPrefix) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hashedKeyPrefix + hex.EncodeToString(sum[:])
}
