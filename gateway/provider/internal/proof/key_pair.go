package proof

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

var (
	// ErrNotThatKey means that a key has another type, or another curve, than the keys with
	// which the sender signs.
	ErrNotThatKey = errors.New("it is another type of key")
	errPublicOnly = errors.New("signing needs the private key; this one is public")
)

// KeyPair declares signatures by a private key. The source's secret is then the public key. A
// private key is accepted too, so that `send` and tests can sign with it.
type KeyPair struct {
	// Read returns a crypto.Signer if the secret is a private key, otherwise the public key.
	Read func(s secret.Value) (any, error)
	// Proves reports whether signature is a key's signature of message.
	Proves func(key crypto.PublicKey, message, signature []byte) bool
	// hash is the hash function whose digest is signed, or 0 if the message itself is signed.
	hash crypto.Hash
}

// Ed25519Keys declares Ed25519. A public key has 32 bytes; a private key is its seed followed
// by the public key.
func Ed25519Keys(spelling KeySpelling) *KeyPair {
	return &KeyPair{
		Read: func(s secret.Value) (any, error) {
			key, err := spelling.Key(s)
			switch {
			case err != nil:
				return nil, err
			case len(key) == ed25519.PublicKeySize:
				return ed25519.PublicKey(key), nil
			case len(key) == ed25519.PrivateKeySize:
				return ed25519.PrivateKey(key), nil
			}
			return nil, fmt.Errorf("the key has %d bytes; an Ed25519 public key has %d", len(key), ed25519.PublicKeySize)
		},
		Proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(ed25519.PublicKey)
			return ok && ed25519.Verify(public, message, signature)
		},
	}
}

// ECDSAKeys declares ECDSA with P-256, SHA-256 and signatures in ASN.1. Keys are PEM, or DER in
// base64.
func ECDSAKeys() *KeyPair {
	return &KeyPair{
		Read: func(s secret.Value) (any, error) {
			key, err := ReadKey(s)
			if err != nil {
				return nil, err
			}
			if public, ok := PublicOf(key).(*ecdsa.PublicKey); !ok || public.Curve != elliptic.P256() {
				return nil, ErrNotThatKey
			}
			return key, nil
		},
		Proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(*ecdsa.PublicKey)
			sum := sha256.Sum256(message)
			return ok && ecdsa.VerifyASN1(public, sum[:], signature)
		},
		hash: crypto.SHA256,
	}
}

// RSAKeys declares RSA with PKCS #1 v1.5. Keys have the same form as for ECDSAKeys.
func RSAKeys(hash crypto.Hash) *KeyPair {
	return &KeyPair{
		Read: func(s secret.Value) (any, error) {
			key, err := ReadKey(s)
			if err != nil {
				return nil, err
			}
			if _, ok := PublicOf(key).(*rsa.PublicKey); !ok {
				return nil, ErrNotThatKey
			}
			return key, nil
		},
		Proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(*rsa.PublicKey)
			return ok && ProvesRSA(public, hash, message, signature) == nil
		},
		hash: hash,
	}
}

// ProvesRSA returns nil if signature is the key's PKCS #1 v1.5 signature of message, and otherwise
// an error.
func ProvesRSA(key *rsa.PublicKey, hash crypto.Hash, message, signature []byte) error {
	h := hash.New()
	h.Write(message)
	return rsa.VerifyPKCS1v15(key, hash, h.Sum(nil), signature)
}

// ReadKey reads a public or private key: PEM, or DER in base64.
func ReadKey(s secret.Value) (any, error) {
	if s.IsZero() {
		return nil, ErrEmptySecret
	}
	text := s.Reveal()
	var der []byte
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der = block.Bytes
	} else {
		var err error
		if der, err = Base64.Decode(strings.Join(strings.Fields(text), "")); err != nil {
			return nil, errors.New("the key is neither PEM nor base64")
		}
	}
	if key, err := x509.ParsePKIXPublicKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the key is neither a public nor a private key in DER")
}

// PublicOf returns a key's public half.
func PublicOf(key any) crypto.PublicKey {
	if private, ok := key.(crypto.Signer); ok {
		return private.Public()
	}
	return key
}

// Check returns an error unless a secret is a public or private key of the right type.
func (k *KeyPair) Check(s secret.Value) error {
	_, err := k.Read(s)
	return err
}

// maxSignatures is the maximum number of signatures in a request. Senders sign once for each of
// their current keys. Checking a signature hashes the whole message, and anybody can send some
// hundred signatures.
const maxSignatures = 8

// Match returns the index of the first secret whose key made one of the signatures. If no key did
// and one of the secrets is unusable, the error says so, because the sender may not be at fault.
func (k *KeyPair) Match(secrets []secret.Value, signatures [][]byte, message []byte) (int, error) {
	if len(secrets) == 0 {
		return 0, ErrNoSecret
	}
	if len(signatures) > maxSignatures {
		return 0, &provider.VerifyError{Reason: provider.ReasonTooManyItems, Detail: fmt.Sprintf("%d signatures; at most %d are checked", len(signatures), maxSignatures)}
	}
	var unusable error
	for i, s := range secrets {
		key, err := k.Read(s)
		if err != nil {
			unusable = fmt.Errorf("secret %d: %w", i, err)
			continue
		}
		for _, signature := range signatures {
			if k.Proves(PublicOf(key), message, signature) {
				return i, nil // an early return reveals no secret: all compared values are public
			}
		}
	}
	if unusable != nil {
		return 0, unusable
	}
	return 0, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
}

// Sign signs message with a secret that contains a private key.
func (k *KeyPair) Sign(s secret.Value, message []byte) ([]byte, error) {
	key, err := k.Read(s)
	if err != nil {
		return nil, err
	}
	private, ok := key.(crypto.Signer)
	if !ok {
		return nil, errPublicOnly
	}
	if k.hash != 0 {
		h := k.hash.New()
		h.Write(message)
		message = h.Sum(nil)
	}
	return private.Sign(rand.Reader, message, k.hash)
}
