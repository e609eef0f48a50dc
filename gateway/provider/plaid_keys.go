package provider

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

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// plaidAccount is what Plaid gives keys to.
type plaidAccount struct{ host, client, secret string }

var errNoPlaidAccount = errors.New("the secret is neither client_id:secret nor sandbox:client_id:secret")

func readPlaidAccount(s secret.Value) (plaidAccount, error) {
	if s.IsZero() {
		return plaidAccount{}, errEmptySecret
	}
	a := plaidAccount{host: "production.plaid.com"}
	text, sandbox := strings.CutPrefix(s.Reveal(), "sandbox:")
	if sandbox {
		a.host = "sandbox.plaid.com"
	}
	var ok bool
	if a.client, a.secret, ok = strings.Cut(text, ":"); !ok || !isKeyID(a.client) || !isKeyID(a.secret) {
		return plaidAccount{}, errNoPlaidAccount
	}
	return a, nil
}

// isKeyID takes what ids of Plaid are made of. The id of a key comes from a
// request before anything of that is proven.
func isKeyID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_'
	})
}

// plaidKeys asks Plaid's API for keys, and keeps those it knows. Ids it does
// not know can be had for nothing, so questions about them are limited.
type plaidKeys struct {
	transport http.RoundTripper
	flights   singleflight.Group
	budget    fetchBudget // for questions about keys that are not known
	kept      *plaidKeptKeys

	mu    sync.Mutex
	known map[plaidKeyName]plaidKey
}

type plaidKeyName struct {
	account plaidAccount
	id      string
}

// kept is what the key is called where it outlives us. That says nothing of the
// account: Plaid signs for all its customers with the same keys.
func (n plaidKeyName) kept() string { return n.account.host + "/" + n.id }

type plaidKey struct {
	keys      []publishedKey // none: it is not valid any more
	document  []byte         // they were read from; nil: there is none
	fetchedAt time.Time
	failedAt  time.Time // of the last question, if that failed
	stored    bool      // as it is here
}

// fresh tells whether there is no need to ask Plaid again, usable whether there
// is a key while Plaid does not answer.
func (k plaidKey) fresh(now time.Time) bool { return now.Sub(k.fetchedAt) < keysFor }

func (k plaidKey) usable(now time.Time) bool {
	return len(k.keys) > 0 && now.Sub(k.fetchedAt) < staleFor
}

func (k plaidKey) justFailed(now time.Time) bool {
	since := now.Sub(k.failedAt)
	return since >= 0 && since < afterFailure
}

var (
	errPlaidUndefined = errors.New("the answer has no key")
	errPlaidAway      = errors.New("fetch the key from Plaid: it failed a moment ago")
)

func newPlaidKeys(o Options) *plaidKeys {
	k := &plaidKeys{transport: o.Fetch, kept: &plaidKeptKeys{store: o.Keys}, known: map[plaidKeyName]plaidKey{}}
	if k.transport == nil {
		k.transport = guardedTransport()
	}
	return k
}

// of returns the keys an account can have. may tells whether Plaid may be asked
// about one that is not known.
func (k *plaidKeys) of(account plaidAccount, may func() bool) keyFinder {
	return func(ctx context.Context, id string, now time.Time) ([]publishedKey, error) {
		if !isKeyID(id) {
			return nil, nil
		}
		name := plaidKeyName{account, id}
		kept, known, storeErr := k.look(ctx, name, now)
		switch {
		case known && kept.fresh(now), kept.usable(now) && kept.justFailed(now):
			return kept.keys, nil
		case kept.justFailed(now):
			return nil, errPlaidAway
		}
		result := k.flights.DoChan(account.host+" "+account.client+" "+account.secret+" "+id, func() (any, error) {
			if !known && !may() {
				return nil, errFetchBudget
			}
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
			defer cancel()
			return k.ask(detached, name, now)
		})
		var err error
		select {
		case r := <-result:
			if err = r.Err; err == nil {
				return r.Val.([]publishedKey), nil
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if kept.usable(now) {
			return kept.keys, nil
		}
		return nil, errors.Join(fmt.Errorf("fetch the key from Plaid: %w", err), storeErr)
	}
}

// look finds a key that is known here, or else was to an earlier process. A
// store that is away leaves what is known here as it is.
func (k *plaidKeys) look(ctx context.Context, name plaidKeyName, now time.Time) (plaidKey, bool, error) {
	k.mu.Lock()
	key, known := k.known[name]
	k.mu.Unlock()
	if known {
		return key, true, nil
	}
	key, known, err := k.kept.find(ctx, name.kept(), now)
	if !known {
		return plaidKey{}, false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if newer, found := k.known[name]; found {
		return newer, true, nil
	}
	k.known[name] = key
	return key, true, nil
}

// ask gets a key and remembers it. No key is an empty list.
func (k *plaidKeys) ask(ctx context.Context, name plaidKeyName, now time.Time) ([]publishedKey, error) {
	document, err := k.post(ctx, name)
	var keys []publishedKey
	if err == nil {
		keys, err = parsePlaidKey(document)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was, known := k.known[name]
	if err != nil {
		if was.failedAt = now; known {
			k.known[name] = was
		}
		return nil, err
	}
	fetched := plaidKey{keys: keys, document: document, fetchedAt: now}
	if known && len(keys) == 0 { // Plaid took it back
		fetched.stored = true
		k.kept.keep(name, document)
	}
	if known || len(keys) > 0 { // a stranger's id is not worth remembering
		k.known[name] = fetched
	}
	return keys, nil
}

// proven keeps a key that has proven a delivery, once for each time that Plaid
// gave it to us.
func (k *plaidKeys) proven(name plaidKeyName) {
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

// post returns what Plaid says of a key; nil when it has none of that id.
func (k *plaidKeys) post(ctx context.Context, name plaidKeyName) ([]byte, error) {
	body, err := json.Marshal(object{"client_id": name.account.client, "secret": name.account.secret, "key_id": name.id})
	if err != nil {
		return nil, err
	}
	url := "https://" + name.account.host + "/webhook_verification_key/get"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", jsonType)
	request.Header.Set("User-Agent", "hooklatch")
	response, err := k.transport.RoundTrip(request) // follows no redirect
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxFetched))
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
		return nil, errPlaidUndefined
	}
	return answer.Key, nil
}

// parsePlaidKey reads what Plaid says of a key. One that has expired is none.
func parsePlaidKey(document []byte) ([]publishedKey, error) {
	if document == nil {
		return nil, nil
	}
	var times struct {
		ExpiredAt *json.Number `json:"expired_at"`
	}
	if err := json.Unmarshal(document, &times); err != nil {
		return nil, errPlaidUndefined
	}
	key, ok := parseKey(document)
	switch {
	case !ok:
		return nil, errPlaidUndefined
	case times.ExpiredAt != nil:
		return nil, nil
	}
	return []publishedKey{key}, nil
}
