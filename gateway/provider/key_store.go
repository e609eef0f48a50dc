package provider

import (
	"context"
	"time"
)

// KeyStore keeps public keys that have proven a delivery of one source, where
// the next process finds them: it need not ask the sender before it can take
// anything. What it returns is trusted like the sender's own answer.
type KeyStore interface {
	// Kept returns the keys that are kept.
	Kept(ctx context.Context) ([]KeptKey, error)
	// Keep keeps a key some time later, in place of what has its ID. It does not
	// wait, and a failure goes to the log only.
	Keep(key KeptKey)
}

// KeptKey is a key in a KeyStore.
type KeptKey struct {
	ID string // what the provider calls it
	// Document is the key as the sender gave it. Nil: it has no such key any more.
	Document []byte
	Age      time.Duration // since it was kept; not for Keep
}
