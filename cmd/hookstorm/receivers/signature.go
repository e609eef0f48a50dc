package receivers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// signed reports whether a call has at least one valid Standard Webhooks signature, or needs none.
// The signed id must be the idempotency key.
func (r *Receivers) signed(destination string, header http.Header, body []byte) bool {
	value, asked := r.opts.Secrets[destination]
	if !asked {
		return true
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(value.Reveal(), "whsec_"))
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	if err != nil || id == "" || id != header.Get("Idempotency-Key") {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for signature := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		encoded, ours := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if ours && err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}
