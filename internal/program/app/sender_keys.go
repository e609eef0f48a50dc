package app

import (
	"context"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// senderKeys stores the keys of one source's sender in the database.
type senderKeys struct {
	outbox *outbox.Outbox
	source string
}

var _ provider.KeyStore = senderKeys{}

// Kept implements provider.KeyStore.
func (s senderKeys) Kept(ctx context.Context) ([]provider.KeptKey, error) {
	rows, err := s.outbox.SenderKeys(ctx, identity.Source(s.source))
	keys := make([]provider.KeptKey, len(rows))
	for i, row := range rows {
		keys[i] = provider.KeptKey{ID: row.ID, Document: row.Document, Age: row.Age}
	}
	return keys, err
}

// Keep implements provider.KeyStore.
func (s senderKeys) Keep(k provider.KeptKey) {
	s.outbox.KeepSenderKey(outbox.SenderKey{Source: identity.Source(s.source), ID: k.ID, Document: k.Document})
}
