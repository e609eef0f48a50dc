package provider

import (
	"context"
	"time"
)

// KeyStore keeps public keys that have verified one source's deliveries. After a restart, the
// gateway can verify deliveries without querying the sender first. Stored keys are trusted
// like the sender's own response.
type KeyStore interface {
	// Kept returns the stored keys.
	Kept(ctx context.Context) ([]KeptKey, error)
	// Keep stores a key asynchronously and replaces a stored key with the same ID. A failure is
	// only logged.
	Keep(key KeptKey)
}

// KeptKey is a key in a KeyStore.
type KeptKey struct {
	ID string // the provider's name for the key
	// Document is the key as the sender returned it. Nil: the sender no longer has such
	// a key.
	Document []byte
	Age      time.Duration // time since the key was stored; not used by Keep
}
