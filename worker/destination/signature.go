package destination

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

// newSigner takes secrets as "whsec_" and Base64, or as the raw bytes.
func newSigner(secrets []secret.Value) (*signer, error) {
	s := &signer{}
	for i, value := range secrets {
		encoded, isEncoded := strings.CutPrefix(value.Reveal(), "whsec_")
		key := []byte(encoded)
		if isEncoded {
			var err error
			if key, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=")); err != nil {
				return nil, fmt.Errorf("secret %d: what follows whsec_ is not Base64", i+1)
			}
		}
		if len(key) == 0 {
			return nil, fmt.Errorf("secret %d is empty", i+1)
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
