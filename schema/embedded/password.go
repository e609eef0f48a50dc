//go:build linux || darwin || freebsd

package embedded

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
)

// scramSecret returns the form in which Postgres stores a password: SCRAM-SHA-256 (RFC 5802) with
// one iteration. Many iterations would make guessing slow, but 128 random bits cannot be guessed.
// Every connection pays for the iterations: 4096 take 10 ms under the race detector.
func scramSecret(password string) string {
	mac := func(key []byte, text ...byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(text)
		return h.Sum(nil)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted := mac([]byte(password), append(slices.Clip(salt), 0, 0, 0, 1)...)
	stored := sha256.Sum256(mac(salted, []byte("Client Key")...))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s", text(salt), text(stored[:]), text(mac(salted, []byte("Server Key")...)))
}
