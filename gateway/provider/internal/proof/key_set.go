package proof

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
)

// PublishedKey is a public key of a sender that signs JSON Web Tokens.
type PublishedKey struct {
	id        string
	algorithm string // the key's only algorithm; empty: any that fits its type
	key       crypto.PublicKey

	// Issuer is the issuer whose tokens the key signs. It is empty if the key set names no issuers.
	// Microsoft's key set names them.
	Issuer string
}

// KeyFinder returns the keys that may have signed a token. Its argument id is the key id in the
// token's header, or "" if the header has none. An empty list means that no key fits. Errors are
// our own or the network's fault.
type KeyFinder func(ctx context.Context, id string) ([]PublishedKey, error)

const (
	// KeysFor is how long a published key set is used before it is fetched again. New keys are
	// found earlier: see NewKeysAfter.
	KeysFor = time.Hour
	// NewKeysAfter is the shortest time between two fetches for a missing key. Without this limit,
	// any client could cause a fetch with each unknown key id that it sends.
	NewKeysAfter = time.Minute
)

var errNoKeys = errors.New("the key set has no usable public key")

// KeysByURL returns a function that finds keys in the key set at a URL.
func KeysByURL(f *Fetcher, rawURL string) KeyFinder {
	var mu sync.Mutex
	var parsed []PublishedKey
	var of []byte // the document from which the keys in parsed come
	read := func(document []byte, err error) ([]PublishedKey, error) {
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if len(of) > 0 && len(document) > 0 && &of[0] == &document[0] {
			return parsed, nil
		}
		keys, err := parseKeySet(document)
		if err != nil {
			return nil, err
		}
		parsed, of = keys, document
		return parsed, nil
	}
	return func(ctx context.Context, id string) ([]PublishedKey, error) {
		keys, err := read(f.Cached(ctx, ourselves, rawURL, KeysFor))
		if err != nil {
			return nil, err
		}
		if found := keysNamed(keys, id); len(found) > 0 {
			return found, nil
		}
		if keys, err = read(f.refreshed(ctx, rawURL, NewKeysAfter)); err != nil {
			return nil, err
		}
		return keysNamed(keys, id), nil
	}
}

// KeysInFile reads a key set file once and returns a function that finds keys in it.
func KeysInFile(path string) (KeyFinder, error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeySet(document)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, id string) ([]PublishedKey, error) {
		return keysNamed(keys, id), nil
	}, nil
}

// keysNamed returns the keys with the given id, or all keys if the id is empty because the token
// names no key.
func keysNamed(keys []PublishedKey, id string) []PublishedKey {
	var found []PublishedKey
	for _, k := range keys {
		if id == "" || k.id == id {
			found = append(found, k)
		}
	}
	return found
}

// parseKeySet reads a JSON Web Key Set (RFC 7517). It ignores encryption keys, weak keys, and keys
// of unknown types (as the RFC recommends).
func parseKeySet(document []byte) ([]PublishedKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	var keys []PublishedKey
	for _, text := range set.Keys {
		if k, ok := ParseKey(text); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errNoKeys
	}
	return keys, nil
}

// ParseKey reads the public half of one JSON Web Key. It returns false if the key is not usable for
// signatures. It ignores the key's certificates, because the key itself comes from the sender.
func ParseKey(text []byte) (PublishedKey, bool) {
	var given struct {
		jwkset.JWKMarshal

		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(text, &given); err != nil || given.USE != "" && given.USE != jwkset.UseSig {
		return PublishedKey{}, false
	}
	public := jwkset.JWKMarshal{
		KTY: given.KTY, KID: given.KID, CRV: given.CRV, X: given.X, Y: given.Y, N: given.N, E: given.E,
	}
	key, err := jwkset.NewJWKFromMarshal(public, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil || !usable(key.Key()) {
		return PublishedKey{}, false
	}
	return PublishedKey{id: given.KID, algorithm: string(given.ALG), key: key.Key(), Issuer: given.Issuer}, true
}

// usable reports whether a key has a known type and is secure. An RSA key must have at least 2048
// bits (RFC 7518, 3.3), and an ECDSA key must be a point on its curve.
func usable(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && k.E > 1
	case *ecdsa.PublicKey:
		_, err := k.ECDH()
		return err == nil
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	}
	return false
}

// keyID returns the id of a key of our own: the hash of its public half.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("name the key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
