// Package prooftest provides fixtures that the tests of the packages proof, sender and catalog
// share: a clock, keys, certificates, and a sender that responds to fetches.
package prooftest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"sync"

	"github.com/MicahParks/jwkset"
)

// Secret is a secret that most providers accept.
const Secret = "correct horse battery staple"

var (
	rsaKey     = sync.OnceValue(func() crypto.Signer { return Must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecdsaKey   = sync.OnceValue(func() crypto.Signer { return Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	ed25519Key = sync.OnceValue(func() crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return Must(key, err)
	})
)

// RSAKey returns the private key of all test senders that sign with RSA.
func RSAKey() crypto.Signer { return rsaKey() }

// ECDSAKey returns the private key of all test senders that sign with P-256.
func ECDSAKey() crypto.Signer { return ecdsaKey() }

// Ed25519Key returns the private key of all test senders that sign with Ed25519.
func Ed25519Key() crypto.Signer { return ed25519Key() }

// Must returns value. It panics if err is not nil.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// RSAPEM returns the private RSAKey in the form that a configuration contains.
func RSAPEM() string { return KeyPEM(RSAKey()) }

// ECDSAPEM returns the private ECDSAKey in the form that a configuration contains.
func ECDSAPEM() string { return KeyPEM(ECDSAKey()) }

// RSABase64 returns RSAKey as base64 without the PEM lines around it.
func RSABase64() string { return base64.StdEncoding.EncodeToString(pkcs8(RSAKey())) }

// ECDSABase64 returns ECDSAKey as base64 without the PEM lines around it.
func ECDSABase64() string { return base64.StdEncoding.EncodeToString(pkcs8(ECDSAKey())) }

// Ed25519Hex returns Ed25519Key in hex: the seed, followed by the public key.
func Ed25519Hex() string { return hex.EncodeToString(Ed25519Key().(ed25519.PrivateKey)) }

// KeyPEM encodes a private key as PKCS #8 in PEM.
func KeyPEM(key crypto.Signer) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(key)}))
}

func pkcs8(key crypto.Signer) []byte { return Must(x509.MarshalPKCS8PrivateKey(key)) }

// KeyID returns the id by which tokens refer to one of our keys: the hash of its public half.
func KeyID(key crypto.Signer) string {
	sum := sha256.Sum256(Must(x509.MarshalPKIXPublicKey(key.Public())))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// KeySet returns a JSON Web Key Set with the public halves of some keys.
func KeySet(keys ...crypto.Signer) []byte {
	var set jwkset.JWKSMarshal
	for _, key := range keys {
		jwk := Must(jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: KeyID(key), USE: jwkset.UseSig}}))
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	return Must(json.Marshal(set))
}
