package provider

import (
	"context"
	"time"
)

// KeyStore keeps public keys that have proven a delivery of one source, for the next
// process: it need not query the sender before it can accept deliveries. Its keys are
// trusted like the sender's own answer.
type KeyStore interface {
	// Kept returns the stored keys.
	Kept(ctx context.Context) ([]KeptKey, error)
	// Keep stores a key some time later, replacing the one with its ID. It does not
	// wait, and a failure is only logged.
	Keep(key KeptKey)
}

// KeptKey is a key in a KeyStore.
type KeptKey struct {
	ID string // the provider's name for it
	// Document is the key as the sender returned it. Nil: the sender no longer has such
	// a key.
	Document []byte
	Age      time.Duration // since it was stored; not for Keep
}
