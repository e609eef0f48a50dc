package provider

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

	"github.com/hooklatch/hooklatch/outbox/secret"
)

var (
	errNotThatKey = errors.New("it is a key of another kind")
	errPublicOnly = errors.New("signing needs the private key; this one is public")
)

// keyPair declares signatures by a private key. The secret of a source is the
// public key then. The private one is taken in its place, so that `send` and
// tests can sign with it.
type keyPair struct {
	// read returns a crypto.Signer for a private key, else the public key.
	read func(s secret.Value) (any, error)
	// proves tells whether signature is that of message by a key.
	proves func(key crypto.PublicKey, message, signature []byte) bool
	// hash is what the signer gets, crypto.Hash(0) for the message itself.
	hash crypto.Hash
}

// ed25519Keys declares Ed25519: a public key of 32 bytes, or a private key as
// its seed followed by the public key.
func ed25519Keys(spelling keySpelling) *keyPair {
	return &keyPair{
		read: func(s secret.Value) (any, error) {
			key, err := spelling.key(s)
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
		proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(ed25519.PublicKey)
			return ok && ed25519.Verify(public, message, signature)
		},
	}
}

// ecdsaKeys declares ECDSA with P-256 and SHA-256, signatures in ASN.1. Keys
// are PEM, or the base64 of the DER in it.
func ecdsaKeys() *keyPair {
	return &keyPair{
		read: func(s secret.Value) (any, error) {
			key, err := readKey(s)
			if err != nil {
				return nil, err
			}
			if public, ok := publicOf(key).(*ecdsa.PublicKey); !ok || public.Curve != elliptic.P256() {
				return nil, errNotThatKey
			}
			return key, nil
		},
		proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(*ecdsa.PublicKey)
			sum := sha256.Sum256(message)
			return ok && ecdsa.VerifyASN1(public, sum[:], signature)
		},
		hash: crypto.SHA256,
	}
}

// rsaKeys declares RSA with PKCS #1 v1.5. Keys are spelled as for ecdsaKeys.
func rsaKeys(hash crypto.Hash) *keyPair {
	return &keyPair{
		read: func(s secret.Value) (any, error) {
			key, err := readKey(s)
			if err != nil {
				return nil, err
			}
			if _, ok := publicOf(key).(*rsa.PublicKey); !ok {
				return nil, errNotThatKey
			}
			return key, nil
		},
		proves: func(key crypto.PublicKey, message, signature []byte) bool {
			public, ok := key.(*rsa.PublicKey)
			return ok && provesRSA(public, hash, message, signature) == nil
		},
		hash: hash,
	}
}

// provesRSA checks a PKCS #1 v1.5 signature.
func provesRSA(key *rsa.PublicKey, hash crypto.Hash, message, signature []byte) error {
	h := hash.New()
	h.Write(message)
	return rsa.VerifyPKCS1v15(key, hash, h.Sum(nil), signature)
}

// readKey reads a public or a private key: PEM, or the base64 of its DER.
func readKey(s secret.Value) (any, error) {
	if s.IsZero() {
		return nil, errEmptySecret
	}
	text := s.Reveal()
	var der []byte
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der = block.Bytes
	} else {
		var err error
		if der, err = base64Std.decode(strings.Join(strings.Fields(text), "")); err != nil {
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

// publicOf returns the public half of a key.
func publicOf(key any) crypto.PublicKey {
	if private, ok := key.(crypto.Signer); ok {
		return private.Public()
	}
	return key
}

func (k *keyPair) check(s secret.Value) error {
	_, err := k.read(s)
	return err
}

// match returns the index of the first key one of the signatures is of.
func (k *keyPair) match(secrets []secret.Value, signatures [][]byte, message []byte) (int, error) {
	if len(secrets) == 0 {
		return 0, errNoSecret
	}
	var unusable error
	for i, s := range secrets {
		key, err := k.read(s)
		if err != nil {
			unusable = fmt.Errorf("secret %d: %w", i, err)
			continue
		}
		for _, signature := range signatures {
			if k.proves(publicOf(key), message, signature) {
				return i, nil // everything compared here is public
			}
		}
	}
	if unusable != nil {
		return 0, unusable
	}
	return 0, &VerifyError{Reason: ReasonWrongSignature}
}

func (k *keyPair) sign(s secret.Value, message []byte) ([]byte, error) {
	key, err := k.read(s)
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
