package destination

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Headers of Standard Webhooks.
const (
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// signer signs every message with each of its keys, as Standard Webhooks 1.0.0 specifies
// (https://github.com/standard-webhooks/standard-webhooks).
type signer struct{ keys []signingKey }

// Prefixes of secrets and public keys.
const (
	encodedSecret = "whsec_" // followed by Base64; every Standard Webhooks library can read it
	privateKey    = "whsk_"  // followed by Base64 of an Ed25519 private key
	publicKey     = "whpk_"  // followed by Base64 of the public key, with which receivers verify
	rawSecret     = "raw:"   // followed by the bytes, for receivers that compute the HMAC on their own

	// Limits of the specification for the length of a decoded secret.
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Sign configures how requests are signed. The webhook-id is the idempotency key as sent, the
// same for all attempts until the key is rotated.
type Sign struct {
	// Secrets of a Standard Webhooks signature. The webhook-id stays the same in every attempt
	// under the same idempotency key. A secret is whsec_ and Base64 of 24 to 64 bytes. For a
	// receiver that does not decode secrets, it is raw: and the bytes themselves. For a signature
	// with a key pair, it is whsk_ and Base64 of an Ed25519 private key; hooklatch check shows the
	// public key. With several secrets, a request carries a signature for each, so that the
	// receiver can change from one secret to the next.
	StandardWebhooks []secret.Value `yaml:"standard_webhooks,omitempty"`
}

func (s *Sign) standardWebhooks() []secret.Value {
	if s == nil {
		return nil
	}
	return s.StandardWebhooks
}

// validate reports each secret that cannot sign, or that the receiver's library would read
// differently, and why. It never quotes a secret.
func (s *Sign) validate() error {
	var c option.Check
	if s != nil && len(s.StandardWebhooks) == 0 {
		c.Missing("standard_webhooks", "has no secret; give standard_webhooks or standard_webhooks_file")
	}
	for i, value := range s.standardWebhooks() {
		_, err := readSigningKey(value)
		if err == nil {
			continue
		}
		hint := "; if the receiver takes the bytes as they are, write raw:" + option.TheSecret
		if isHalfOfPair(value) {
			hint = ""
		}
		c.Failf(element("standard_webhooks", i), nil, "secret %d %s%s", i+1, err, hint)
	}
	return c.Err()
}

// isHalfOfPair reports whether a secret is half of a key pair, not a shared secret.
func isHalfOfPair(value secret.Value) bool {
	text := value.Reveal()
	return strings.HasPrefix(text, privateKey) || strings.HasPrefix(text, publicKey)
}

// SigningPublicKey returns the public key with which receivers verify a secret's signatures:
// "whpk_" and Base64. It is empty for a shared secret, and for a secret that cannot sign.
func SigningPublicKey(value secret.Value) string {
	key, err := readSigningKey(value)
	if pair, ok := key.(asymmetricKey); ok && err == nil {
		return publicKey + base64.StdEncoding.EncodeToString(pair[ed25519.SeedSize:])
	}
	return ""
}

// readSigningKey returns the key in a configured secret.
func readSigningKey(value secret.Value) (signingKey, error) {
	text := value.Reveal()
	if text == "" {
		return nil, errors.New("is empty")
	}
	if raw, ok := strings.CutPrefix(text, rawSecret); ok {
		if raw == "" {
			return nil, errors.New("has nothing after raw:")
		}
		return symmetricKey(raw), nil
	}
	if strings.HasPrefix(text, publicKey) {
		return nil, errors.New("is a public key, with which the receiver verifies; requests are signed with the private key, whsk_")
	}
	if encoded, ok := strings.CutPrefix(text, privateKey); ok {
		return readPrivateKey(encoded)
	}
	encoded, ok := strings.CutPrefix(text, encodedSecret)
	if !ok {
		return nil, errors.New("begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with whsk_, nor with raw:; " +
			"libraries of receivers decode every secret as Base64, and would verify with a different key")
	}
	key, err := decodeKey(encoded)
	if err != nil {
		return nil, errors.New("is not Base64 after whsec_")
	}
	if len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return nil, fmt.Errorf("decodes to %d bytes after whsec_; allowed: %d to %d bytes", len(key), minSecretBytes, maxSecretBytes)
	}
	return symmetricKey(key), nil
}

// readPrivateKey reads both common forms of an Ed25519 private key: the seed, and the seed followed
// by the public key.
func readPrivateKey(encoded string) (signingKey, error) {
	key, err := decodeKey(encoded)
	if err != nil {
		return nil, errors.New("is not Base64 after whsk_")
	}
	switch len(key) {
	case ed25519.SeedSize:
		return asymmetricKey(ed25519.NewKeyFromSeed(key)), nil
	case ed25519.PrivateKeySize:
		// Signatures made with another pair's public key reveal the private key.
		pair := ed25519.NewKeyFromSeed(key[:ed25519.SeedSize])
		if !pair.Equal(ed25519.PrivateKey(key)) {
			return nil, errors.New("has a public key after the private one that does not belong to it")
		}
		return asymmetricKey(pair), nil
	}
	return nil, fmt.Errorf("decodes to %d bytes after whsk_; an Ed25519 private key has %d bytes, or %d with the public key appended",
		len(key), ed25519.SeedSize, ed25519.PrivateKeySize)
}

// decodeKey decodes Base64 with or without padding.
func decodeKey(encoded string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
}

func newSigner(secrets []secret.Value) (*signer, error) {
	s := &signer{}
	for _, value := range secrets {
		key, err := readSigningKey(value)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// sign returns the values of two headers: the timestamp, and one signature for each secret. During
// a rotation, therefore, a receiver that knows either the old or the new secret accepts the
// message.
func (s *signer) sign(id string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	message := slices.Concat([]byte(id+"."+timestamp+"."), body)
	signatures := make([]string, 0, len(s.keys))
	for _, key := range s.keys {
		scheme, made := key.sign(message)
		signatures = append(signatures, scheme+","+base64.StdEncoding.EncodeToString(made))
	}
	return timestamp, strings.Join(signatures, " ")
}

// signingKey signs "id.timestamp.body" with one of the specification's schemes.
type signingKey interface {
	sign(message []byte) (scheme string, signature []byte)
}

// symmetricKey is a secret that the receiver shares. It signs with HMAC-SHA256.
type symmetricKey []byte

func (k symmetricKey) sign(message []byte) (scheme string, signature []byte) {
	mac := hmac.New(sha256.New, k)
	mac.Write(message)
	return "v1", mac.Sum(nil)
}

// asymmetricKey is the private half of an Ed25519 key pair. The receiver has only the public half,
// which cannot sign.
type asymmetricKey ed25519.PrivateKey

func (k asymmetricKey) sign(message []byte) (scheme string, signature []byte) {
	return "v1a", ed25519.Sign(ed25519.PrivateKey(k), message)
}
