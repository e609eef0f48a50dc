// Package plaidkeys fetches Plaid's signing keys from its API and caches them.
package plaidkeys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Account is the Plaid account with which keys are fetched.
type Account struct{ host, client, secret string }

var errNoAccount = errors.New("the secret is neither client_id:secret nor sandbox:client_id:secret")

// ReadAccount reads the account from a source's secret: client_id:secret, or
// sandbox:client_id:secret for the sandbox.
func ReadAccount(s secret.Value) (Account, error) {
	if s.IsZero() {
		return Account{}, proof.ErrEmptySecret
	}
	a := Account{host: "production.plaid.com"}
	text, sandbox := strings.CutPrefix(s.Reveal(), "sandbox:")
	if sandbox {
		a.host = "sandbox.plaid.com"
	}
	var ok bool
	if a.client, a.secret, ok = strings.Cut(text, ":"); !ok || !isKeyID(a.client) || !isKeyID(a.secret) {
		return Account{}, errNoAccount
	}
	return a, nil
}

// isKeyID reports whether a string has the form of Plaid's ids and secrets. The finder that Keys.Of
// returns checks each key id with it, because the id comes from an unverified request.
func isKeyID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_'
	})
}

// Keys fetches keys from Plaid's API and caches them. Callers limit the queries for unknown ids
// (see Of and Budget), because an unauthenticated sender can send any number of such ids at no
// cost. Like proof.Fetcher, Keys measures ages by this process's clock.
type Keys struct {
	transport http.RoundTripper
	flights   singleflight.Group
	Budget    proof.FetchBudget // for requests for unknown keys
	kept      *keptKeys

	mu    sync.Mutex
	known map[Name]accountKey
}

// Name identifies a key that is requested with an account.
type Name struct {
	Account Account
	ID      string
}

// kept returns the key's name in the store: the host and the id. The name leaves out the customer,
// because Plaid uses the same keys for all customers.
func (n Name) kept() string { return n.Account.host + "/" + n.ID }

type accountKey struct {
	keys      []proof.PublishedKey // empty: the key has expired, or Plaid no longer has it
	document  []byte               // source of keys; nil: Plaid has no such key
	fetchedAt time.Time
	failedAt  time.Time // time of the last request, if it failed
	stored    bool      // true if the store has this version
}

// fresh reports whether a key is so new that it is used without another query.
func (k accountKey) fresh() bool { return time.Since(k.fetchedAt) < proof.KeysFor }

// usable reports whether a key may be used while Plaid is unavailable.
func (k accountKey) usable() bool {
	return len(k.keys) > 0 && time.Since(k.fetchedAt) < proof.StaleFor
}

func (k accountKey) justFailed() bool { return time.Since(k.failedAt) < proof.AfterFailure }

var (
	errUndefined = errors.New("the response has no key")
	errAway      = errors.New("fetch the key from Plaid: the last attempt failed a moment ago")
)

// New returns Keys that fetch over proof.TransportOf(o). A fetched key that has verified a delivery
// is stored in o.Keys, unless o.Keys is nil.
func New(o provider.Options) *Keys {
	return &Keys{transport: proof.TransportOf(o), kept: &keptKeys{store: o.Keys}, known: map[Name]accountKey{}}
}

// Of returns a finder for an account's keys. The finder calls may before it queries Plaid for an
// unknown key, and does not query if the result is false. While Plaid is unavailable, the finder
// returns a cached key that is less than proof.StaleFor old.
func (k *Keys) Of(account Account, may func() bool) proof.KeyFinder {
	return func(ctx context.Context, id string) ([]proof.PublishedKey, error) {
		if !isKeyID(id) {
			return nil, nil
		}
		name := Name{account, id}
		kept, known, storeErr := k.look(ctx, name)
		switch {
		case known && kept.fresh(), kept.usable() && kept.justFailed():
			return kept.keys, nil
		case kept.justFailed():
			return nil, errAway
		}
		result := k.flights.DoChan(account.host+" "+account.client+" "+account.secret+" "+id, func() (any, error) {
			if !known && !may() {
				return nil, proof.ErrFetchBudget
			}
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), proof.FetchTimeout)
			defer cancel()
			return k.ask(detached, name)
		})
		var err error
		select {
		case r := <-result:
			if err = r.Err; err == nil {
				return r.Val.([]proof.PublishedKey), nil
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if kept.usable() {
			return kept.keys, nil
		}
		return nil, errors.Join(fmt.Errorf("fetch the key from Plaid: %w", err), storeErr)
	}
}

// look finds a key in memory. If memory lacks the key, look finds it in the store and caches it. If
// the store lacks the key too, look returns the error of the last read of the store, if that read
// failed.
func (k *Keys) look(ctx context.Context, name Name) (accountKey, bool, error) {
	k.mu.Lock()
	key, known := k.known[name]
	k.mu.Unlock()
	if known {
		return key, true, nil
	}
	key, known, err := k.kept.find(ctx, name.kept())
	if !known {
		return accountKey{}, false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if newer, found := k.known[name]; found {
		return newer, true, nil
	}
	k.known[name] = key
	return key, true, nil
}

// ask fetches a key and caches it. An empty list means that Plaid has no such key, or that the key
// has expired; ask then updates the cache only if the cache already had the key.
func (k *Keys) ask(ctx context.Context, name Name) ([]proof.PublishedKey, error) {
	document, err := k.post(ctx, name)
	var keys []proof.PublishedKey
	if err == nil {
		keys, err = readKey(document)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was, known := k.known[name]
	if err != nil {
		if was.failedAt = time.Now(); known {
			k.known[name] = was
		}
		return nil, err
	}
	fetched := accountKey{keys: keys, document: document, fetchedAt: time.Now()}
	if known && len(keys) == 0 { // Plaid no longer has the key, or the key has expired
		fetched.stored = true
		k.kept.keep(name, document)
	}
	if known || len(keys) > 0 { // an id that only an unauthenticated sender named is not cached
		k.known[name] = fetched
	}
	return keys, nil
}

// Proven stores a key that has verified a delivery. It does nothing if the store already has the
// version that was fetched last.
func (k *Keys) Proven(name Name) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known := k.known[name]
	if !known || key.stored {
		return
	}
	key.stored = true
	k.known[name] = key
	k.kept.keep(name, key.document)
}

// post returns Plaid's document about a key, or nil if Plaid has no key with that id.
func (k *Keys) post(ctx context.Context, name Name) ([]byte, error) {
	body, err := json.Marshal(proof.Object{"client_id": name.Account.client, "secret": name.Account.secret, "key_id": name.ID})
	if err != nil {
		return nil, err
	}
	url := "https://" + name.Account.host + "/webhook_verification_key/get"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", proof.JSONType)
	request.Header.Set("User-Agent", "hooklatch")
	response, err := k.transport.RoundTrip(request) // follows no redirect
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, proof.MaxFetched))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Key       json.RawMessage `json:"key"`
		ErrorCode string          `json:"error_code"`
	}
	parseErr := json.Unmarshal(text, &answer)
	switch {
	case response.StatusCode == http.StatusBadRequest && answer.ErrorCode == "INVALID_WEBHOOK_VERIFICATION_KEY_ID":
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", response.StatusCode)
	case parseErr != nil || len(answer.Key) == 0:
		return nil, errUndefined
	}
	return answer.Key, nil
}

// readKey reads Plaid's document about a key. It returns no key if the document is nil or the key
// has expired.
func readKey(document []byte) ([]proof.PublishedKey, error) {
	if document == nil {
		return nil, nil
	}
	var times struct {
		ExpiredAt *json.Number `json:"expired_at"`
	}
	if err := json.Unmarshal(document, &times); err != nil {
		return nil, errUndefined
	}
	key, ok := proof.ParseKey(document)
	switch {
	case !ok:
		return nil, errUndefined
	case times.ExpiredAt != nil:
		return nil, nil
	}
	return []proof.PublishedKey{key}, nil
}
