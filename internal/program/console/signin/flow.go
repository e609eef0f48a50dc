package signin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// flow is a sign-in in progress at the provider, as the browser stores it.
type flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Next     string `json:"next"`
	Begun    int64  `json:"begun"` // Unix time in seconds
}

// flowKey returns the key that seals flows.
func (p *relyingParty) flowKey() []byte { return p.keyOf("flow") }

// keyOf returns the key for one purpose. All processes with the same configuration have the same
// key, which changes with the client secret.
func (p *relyingParty) keyOf(purpose string) []byte {
	key := hmac.New(sha256.New, []byte(p.secret.Load().Reveal()))
	_, _ = key.Write([]byte("hooklatch OIDC " + purpose + "\x00" + p.opts.Issuer + "\x00" + p.opts.ClientID)) // never fails
	return key.Sum(nil)
}

// seal returns the flow as a cookie. The cookie's MAC proves that Hooklatch started the flow.
// Without the MAC, an attacker could make Hooklatch send its client secret to the provider for
// flows that the attacker made up.
func (f flow) seal(key []byte) string {
	text, _ := json.Marshal(f) // strings never fail
	encoded := base64.RawURLEncoding.EncodeToString(text)
	return encoded + "." + base64.RawURLEncoding.EncodeToString(macOf(key, encoded))
}

// unseal reads a cookie that seal returned. It returns false for any other cookie, and for a flow
// that began at least flowFor ago.
func unseal(key []byte, cookie string, now time.Time) (f flow, ok bool) {
	encoded, mac, _ := strings.Cut(cookie, ".")
	given, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(given, macOf(key, encoded)) {
		return flow{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(text, &f) != nil {
		return flow{}, false
	}
	return f, now.Sub(time.Unix(f.Begun, 0)) < flowFor
}

func macOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}

func (g *Guard) flowCookie() string { return g.cookieName() + "-oidc" }

func (g *Guard) setFlow(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure if browsers use HTTPS
		Name: g.flowCookie(), Value: value, Path: "/", MaxAge: maxAge, Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// flowOf returns the flow that the request's browser started. It returns false if there is none, or
// if the flow is forged, too old or already used in this process. It also returns false if the
// state in the URL belongs to another flow.
func (g *Guard) flowOf(r *http.Request) (begun flow, ok bool) {
	cookie, err := r.Cookie(g.flowCookie())
	if err != nil {
		return flow{}, false
	}
	begun, ok = unseal(g.oidc.flowKey(), cookie.Value, g.opts.Now())
	if !ok || !hmac.Equal([]byte(begun.State), []byte(r.URL.Query().Get("state"))) {
		return flow{}, false
	}
	return begun, !g.oidc.used.has(begun)
}

// usedFlows records the flows that were used in this process, even if the sign-in failed. The limit
// on requests to the provider also limits the number of recorded flows.
type usedFlows struct {
	now func() time.Time

	mu      sync.Mutex
	until   map[string]time.Time // by state
	cleaned time.Time
}

func (u *usedFlows) has(f flow) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, used := u.until[f.State]
	return used
}

// add records a flow as used. It returns false if the flow was recorded before.
func (u *usedFlows) add(f flow) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	if u.until == nil || now.Sub(u.cleaned) > flowFor {
		u.cleaned = now
		maps.DeleteFunc(u.until, func(_ string, until time.Time) bool { return now.After(until) })
	}
	if u.until == nil {
		u.until = make(map[string]time.Time)
	}
	if _, used := u.until[f.State]; used {
		return false
	}
	u.until[f.State] = time.Unix(f.Begun, 0).Add(flowFor)
	return true
}
