package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// EffectID is the primary key of an effect. At most one effect exists for a scope, key and
// generation (I4).
type EffectID struct {
	Scope      Scope `json:"scope"` // from ScopeOfRoute, ScopeOfEnqueue or ScopeOfResend
	Key        Key   `json:"key"`
	Generation int   `json:"generation"`
}

// String returns SCOPE/KEY, without the generation.
func (id EffectID) String() string { return string(id.Scope) + "/" + string(id.Key) }

// ScopeOfRoute returns the scope of the effects that one route creates for one source.
func ScopeOfRoute(source Source, route string) Scope {
	return Scope("route:" + string(source) + ":" + route)
}

// ScopeOfEnqueue returns the scope of the effects that an application enqueues for a destination.
func ScopeOfEnqueue(destination string) Scope { return Scope("enqueue:" + destination) }

// ScopeOfResend returns the scope of the effects that resend one effect under other keys.
func ScopeOfResend(idempotencyKey string) Scope { return Scope("resend:" + idempotencyKey) }

// IdempotencyKey returns the key of the effect: "hl_" and 40 hex digits of a SHA-256 of the primary
// key. It does not reveal the primary key, and never changes. Attempts send this key, or a key
// derived from it once a settlement has rotated the key (I7).
func (id EffectID) IdempotencyKey() string {
	h := sha256.New()
	var length [8]byte
	for _, part := range []string{string(id.Scope), string(id.Key)} {
		// The length before each part distinguishes ("a", "bc") from ("ab", "c").
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	binary.BigEndian.PutUint64(length[:], uint64(id.Generation)) //nolint:gosec // generations count up from 1
	h.Write(length[:])
	sum := h.Sum(nil)
	return "hl_" + hex.EncodeToString(sum[:20])
}
