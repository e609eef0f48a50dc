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

	mu    sync.Mutex
	known map[plaidKeyName]plaidKey
}

type plaidKeyName struct {
	account plaidAccount
	id      string
}

type plaidKey struct {
	keys      []publishedKey // none: it is not valid any more
	fetchedAt time.Time
	failedAt  time.Time // of the last question, if that failed
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

var errPlaidUndefined = errors.New("the answer has no key")

func newPlaidKeys(o Options) *plaidKeys {
	k := &plaidKeys{transport: o.Fetch, known: map[plaidKeyName]plaidKey{}}
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
		kept, known := k.look(name)
		if known && (kept.fresh(now) || kept.usable(now) && kept.justFailed(now)) {
			return kept.keys, nil
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
		return nil, fmt.Errorf("fetch the key from Plaid: %w", err)
	}
}

func (k *plaidKeys) look(name plaidKeyName) (plaidKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, known := k.known[name]
	return kept, known
}

// ask gets a key and keeps it. No key is an empty list.
func (k *plaidKeys) ask(ctx context.Context, name plaidKeyName, now time.Time) ([]publishedKey, error) {
	keys, err := k.post(ctx, name)
	k.mu.Lock()
	defer k.mu.Unlock()
	was, known := k.known[name]
	switch {
	case err == nil && (known || len(keys) > 0): // a stranger's id is not worth keeping
		k.known[name] = plaidKey{keys: keys, fetchedAt: now}
	case err != nil && known:
		was.failedAt = now
		k.known[name] = was
	}
	return keys, err
}

func (k *plaidKeys) post(ctx context.Context, name plaidKeyName) ([]publishedKey, error) {
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
	return readPlaidKey(response.StatusCode, text)
}

// readPlaidKey reads the answer to a question about a key. An id that Plaid
// does not know, and a key that has expired, are no key.
func readPlaidKey(status int, text []byte) ([]publishedKey, error) {
	var answer struct {
		Key       json.RawMessage `json:"key"`
		ErrorCode string          `json:"error_code"`
	}
	parseErr := json.Unmarshal(text, &answer)
	switch {
	case status == http.StatusBadRequest && answer.ErrorCode == "INVALID_WEBHOOK_VERIFICATION_KEY_ID":
		return nil, nil
	case status != http.StatusOK:
		return nil, fmt.Errorf("status %d", status)
	case parseErr != nil:
		return nil, errPlaidUndefined
	}
	var times struct {
		ExpiredAt *json.Number `json:"expired_at"`
	}
	if err := json.Unmarshal(answer.Key, &times); err != nil {
		return nil, errPlaidUndefined
	}
	key, ok := parseKey(answer.Key)
	switch {
	case !ok:
		return nil, errPlaidUndefined
	case times.ExpiredAt != nil:
		return nil, nil
	}
	return []publishedKey{key}, nil
}
