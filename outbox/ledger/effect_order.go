package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// orderKey identifies an order of effects.
type orderKey struct {
	Scope    identity.Scope
	OrderKey string
}

// orderKey returns the key of the effect's order, or "" if it has none.
func (e NewEffect) orderKey() string { return cmp.Or(e.OrderKey, e.LatestKey) }

func (e NewEffect) validateOrder() error {
	if e.OrderKey != "" && e.LatestKey != "" && e.OrderKey != e.LatestKey {
		return errors.New("effect has both an order key and a different latest key: a latest key is itself an order key")
	}
	if key := e.orderKey(); key != "" {
		if err := column.ValidateKey(key, maxKeyLen); err != nil {
			return fmt.Errorf("effect order key %w", err)
		}
	}
	switch e.OnPark {
	case "", OnParkBlock, OnParkSkip:
		return nil
	}
	return fmt.Errorf("effect %s has on_park %q; allowed: %s and %s", e.EffectID, e.OnPark, OnParkBlock, OnParkSkip)
}

// onPark returns OnParkSkip for an effect that is created parked, so that no other effect waits for
// it.
func (e NewEffect) onPark() OnPark {
	if e.Parked != "" {
		return OnParkSkip
	}
	return cmp.Or(e.OnPark, OnParkBlock)
}

// occurred returns the time of the change that e reports, or nil if unknown.
func (e NewEffect) occurred(cause *Cause) *time.Time {
	at := column.KnownTime(e.OccurredAt)
	if cause != nil && at == nil {
		at = column.KnownTime(cause.OccurredAt)
	}
	return at
}
