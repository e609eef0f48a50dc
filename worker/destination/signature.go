package destination

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Headers of Standard Webhooks.
const (
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// signer signs after Standard Webhooks 1.0.0, scheme v1: HMAC-SHA256 over
// "id.timestamp.body" (https://github.com/standard-webhooks/standard-webhooks).
type signer struct{ keys [][]byte }

// What a secret may be.
const (
	encodedSecret = "whsec_" // and Base64, as every library of Standard Webhooks reads it
	rawSecret     = "raw:"   // and the bytes themselves, for receivers that compute the HMAC on their own

	// The specification asks for this many bytes.
	minSecretBytes = 24
	maxSecretBytes = 64
)

// CheckSigningSecret says why nothing can be signed with a secret, or why the
// receiver's library would take it for another one. It never quotes it.
func CheckSigningSecret(value secret.Value) error {
	_, err := signingKey(value)
	return err
}

// signingKey is the key that a configured secret spells.
func signingKey(value secret.Value) ([]byte, error) {
	text := value.Reveal()
	if raw, ok := strings.CutPrefix(text, rawSecret); ok {
		if raw == "" {
			return nil, errors.New("has nothing after raw:")
		}
		return []byte(raw), nil
	}
	encoded, ok := strings.CutPrefix(text, encodedSecret)
	if text == "" {
		return nil, errors.New("is empty")
	}
	if !ok {
		return nil, errors.New("begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with raw:; " +
			"libraries of receivers read every secret as Base64, and would verify with another key than these bytes")
	}
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return nil, errors.New("is not Base64 after whsec_")
	}
	if len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return nil, fmt.Errorf("spells %d bytes after whsec_; allowed: %d to %d", len(key), minSecretBytes, maxSecretBytes)
	}
	return key, nil
}

func newSigner(secrets []secret.Value) (*signer, error) {
	s := &signer{}
	for i, value := range secrets {
		key, err := signingKey(value)
		if err != nil {
			return nil, fmt.Errorf("secret %d %w", i+1, err)
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// sign returns one signature for each secret, so that a receiver that knows
// either the old or the new one accepts the message while they are rotated.
func (s *signer) sign(id string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, 0, len(s.keys))
	for _, key := range s.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return timestamp, strings.Join(signatures, " ")
}
