package plaidkeys

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

const (
	// storePatience is the maximum time that a request waits for the stored keys. It leaves
	// time to query Plaid before the sender gives up.
	storePatience = 400 * time.Millisecond
	// storeTimeout limits one read from the store.
	storeTimeout = 2 * time.Second
)

// keptKeys holds the Plaid keys that outlive a restart. One query reads all of a source's
// keys, because unknown senders can send any number of ids, and each id would otherwise cost a
// query.
type keptKeys struct {
	store provider.KeyStore // may be nil
	loads singleflight.Group

	mu       sync.Mutex
	keys     map[string]accountKey
	loadedAt time.Time
	triedAt  time.Time
	failure  error // the last read's error
}

// find returns a stored key, and whether the store has it. If the last read of the store failed,
// find also returns that error, and the key comes from an earlier read. If a read takes longer than
// storePatience, find uses the results of earlier reads.
func (p *keptKeys) find(ctx context.Context, id string) (accountKey, bool, error) {
	if p.store == nil {
		return accountKey{}, false, nil
	}
	if p.due() {
		p.wait(ctx, p.loads.DoChan("", func() (any, error) {
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			defer cancel()
			p.load(detached)
			return nil, nil
		}))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key, found := p.keys[id]
	return key, found, p.failure
}

// due reports whether to read the store again: other processes write to it too.
func (p *keptKeys) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return time.Since(p.triedAt) >= proof.AfterFailure
	}
	return p.loadedAt.IsZero() || time.Since(p.loadedAt) >= proof.NewKeysAfter
}

func (p *keptKeys) wait(ctx context.Context, loaded <-chan singleflight.Result) {
	timer := time.NewTimer(storePatience)
	defer timer.Stop()
	select {
	case <-loaded:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *keptKeys) load(ctx context.Context) {
	kept, err := p.store.Kept(ctx)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.triedAt, p.failure = now, nil
	if err != nil {
		p.failure = fmt.Errorf("read the stored keys: %w", err)
		return
	}
	p.loadedAt, p.keys = now, make(map[string]accountKey, len(kept))
	for _, k := range kept {
		keys, err := readKey(k.Document)
		if err != nil {
			continue // a newer version may have written this key: query Plaid instead
		}
		p.keys[k.ID] = accountKey{keys: keys, document: k.Document, fetchedAt: now.Add(-k.Age), stored: true}
	}
}

func (p *keptKeys) keep(name Name, document []byte) {
	if p.store != nil {
		p.store.Keep(provider.KeptKey{ID: name.kept(), Document: document})
	}
}
