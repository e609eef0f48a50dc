package proof

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// WebToken declares a JSON Web Token (RFC 7519) that each request carries.
type WebToken struct {
	Header string // in canonical form
	Prefix string // prefix of the header's value

	Algorithms []string  // allowed algorithms; required
	Keys       KeyFinder // nil: the source's secrets

	Issuers     []string // allowed issuers; empty: any
	Audience    string   // empty: any, unless URLAudience
	URLAudience bool     // if Audience is empty, the endpoint's URL is the audience
	Claims      map[string]string
	BodyHash    string        // claim with the body's SHA-256 in hex; empty: none
	MaxAge      time.Duration // maximum age since iat; 0: only exp counts
	Leeway      time.Duration // allowed difference between the sender's clock and ours

	Single []string // additional headers that the provider's rules read; see Scheme
}

const (
	// maxWebToken is the maximum length of a token, in bytes. Real tokens have 1 to 2 kB.
	maxWebToken = 16 << 10
	// StandardLeeway is the usual difference allowed between the sender's clock and ours.
	StandardLeeway = time.Minute
)

// Algorithms for tokens signed with a secret or with a key pair.
var (
	SecretAlgorithms = []string{"HS256", "HS384", "HS512"}
	PublicAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)

// Authorization is the header in which most senders put a token.
const Authorization = "Authorization"

// segments reads tokens strictly. Claims about time are checked separately.
var segments = jwt.NewParser(jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())

// Verify verifies a request by its token, as Provider.Verify describes.
func (w *WebToken) Verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	for _, name := range w.Single {
		if len(r.Header[name]) > 1 {
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: name}
		}
	}
	token, err := w.token(r)
	if err != nil {
		return provider.Verified{}, err
	}
	claims, index, err := w.Proven(ctx, token, secrets, now)
	if err != nil {
		return provider.Verified{}, err
	}
	if err := w.fits(claims, r); err != nil {
		return provider.Verified{}, err
	}
	verified := provider.Verified{SecretIndex: index}
	if issued, err := claims.GetIssuedAt(); err == nil && issued != nil {
		verified.SignedAt = issued.Time
	}
	return verified, nil
}

// token returns a request's token.
func (w *WebToken) token(r *provider.Request) (string, error) {
	value, err := TheHeader(r.Header, w.Header, provider.ReasonMissingToken)
	if err != nil {
		return "", err
	}
	token, ok := CutPrefix(value, w.Prefix)
	if !ok {
		return "", &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "want " + w.Prefix + "<token>"}
	}
	return token, nil
}

// Proven checks a token without its request: signature, time, issuer, audience and required claims.
// It returns the claims and the index of the secret that signed the token (see Match). Callers also
// use Proven for tokens elsewhere in a request. Errors: the same as from Provider.Verify.
func (w *WebToken) Proven(ctx context.Context, text string, secrets []secret.Value, now time.Time) (jwt.MapClaims, int, error) {
	token, claims, signature, err := w.Read(text)
	if err != nil {
		return nil, 0, err
	}
	signed := text[:strings.LastIndexByte(text, '.')]
	index, err := w.Match(ctx, token, signed, signature, secrets)
	if err != nil {
		return nil, 0, err
	}
	return claims, index, w.valid(claims, now)
}

// Read parses a token and returns it with its claims and its signature. None of these is verified
// yet.
func (w *WebToken) Read(text string) (*jwt.Token, jwt.MapClaims, []byte, error) {
	if len(text) > maxWebToken {
		return nil, nil, nil, &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "longer than 16 KiB"}
	}
	claims := jwt.MapClaims{}
	token, parts, err := segments.ParseUnverified(text, claims)
	if err != nil && !errors.Is(err, jwt.ErrTokenUnverifiable) { // ErrTokenUnverifiable means an unknown algorithm
		return nil, nil, nil, &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "not a signed JSON Web Token"}
	}
	algorithm, _ := token.Header["alg"].(string)
	if !slices.Contains(w.Algorithms, algorithm) || token.Method == nil {
		return nil, nil, nil, &provider.VerifyError{Reason: provider.ReasonForbiddenAlgorithm, Detail: "want " + strings.Join(w.Algorithms, " or ")}
	}
	if token.Header["crit"] != nil { // RFC 7515, 4.1.11: unknown extensions must not be ignored
		return nil, nil, nil, &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "has a critical extension"}
	}
	signature, err := segments.DecodeSegment(parts[2])
	if err != nil || len(signature) == 0 {
		return nil, nil, nil, &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "the signature is not base64url"}
	}
	return token, claims, signature, nil
}

// Plausible refuses a request if its token's claims about the time, the URL or the body do not fit.
// No key is then fetched for a request that would be refused anyway. Plausible verifies nothing.
func (w *WebToken) Plausible(r *provider.Request, now time.Time) error {
	text, err := w.token(r)
	if err != nil {
		return err
	}
	_, claims, _, err := w.Read(text)
	if err != nil {
		return err
	}
	if err := w.inTime(claims, now); err != nil {
		return err
	}
	return w.fits(claims, r)
}

// Match finds the secret or key that signed a token. It returns the secret's index, or 0 for a
// key from w.Keys.
func (w *WebToken) Match(ctx context.Context, token *jwt.Token, signed string, signature []byte, secrets []secret.Value) (int, error) {
	if w.Keys == nil {
		return webTokenSecret.Match(secrets, [][]byte{{1}}, func(key []byte) [][]byte {
			if token.Method.Verify(signed, signature, key) != nil {
				return [][]byte{{0}}
			}
			return [][]byte{{1}}
		})
	}
	id, _ := token.Header["kid"].(string)
	keys, err := w.Keys(ctx, id)
	if err != nil {
		return 0, err
	}
	known := false
	for _, k := range keys {
		if k.algorithm != "" && k.algorithm != token.Method.Alg() {
			continue
		}
		known = true
		if token.Method.Verify(signed, signature, k.key) == nil {
			return 0, nil
		}
	}
	if !known {
		return 0, &provider.VerifyError{Reason: provider.ReasonUnknownKey}
	}
	return 0, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
}

var webTokenSecret = KeySpelling{Encoding: Raw}

// valid checks a verified token's claims that do not depend on the request.
func (w *WebToken) valid(claims jwt.MapClaims, now time.Time) error {
	if err := w.inTime(claims, now); err != nil {
		return err
	}
	if issuer, err := claims.GetIssuer(); err != nil || len(w.Issuers) > 0 && !slices.Contains(w.Issuers, issuer) {
		return &provider.VerifyError{Reason: provider.ReasonWrongIssuer}
	}
	if w.Audience != "" && !MadeFor(claims, w.Audience) {
		return &provider.VerifyError{Reason: provider.ReasonWrongAudience}
	}
	for name, want := range w.Claims {
		if got, ok := claims[name]; !ok || fmt.Sprint(got) != want {
			return &provider.VerifyError{Reason: provider.ReasonWrongClaim, Detail: name}
		}
	}
	return nil
}

// inTime checks exp, nbf and iat. A token that never expires is accepted only if it is bound
// to a body or its age is limited.
func (w *WebToken) inTime(claims jwt.MapClaims, now time.Time) error {
	expires, expiryErr := claims.GetExpirationTime()
	starts, startErr := claims.GetNotBefore()
	issued, issueErr := claims.GetIssuedAt()
	switch {
	case expiryErr != nil || startErr != nil || issueErr != nil:
		return &provider.VerifyError{Reason: provider.ReasonMalformedTimestamp, Detail: "exp, nbf or iat is not a number"}
	case expires == nil && w.BodyHash == "" && w.MaxAge == 0:
		return &provider.VerifyError{Reason: provider.ReasonMissingTimestamp, Detail: "exp"}
	case issued == nil && w.MaxAge > 0:
		return &provider.VerifyError{Reason: provider.ReasonMissingTimestamp, Detail: "iat"}
	case expires != nil && now.After(expires.Add(w.Leeway)):
		return &provider.VerifyError{Reason: provider.ReasonExpired, Detail: now.Sub(expires.Time).Round(time.Second).String() + " ago"}
	case starts != nil && now.Before(starts.Add(-w.Leeway)):
		return &provider.VerifyError{Reason: provider.ReasonNotYetValid, Detail: "nbf is " + starts.Sub(now).Round(time.Second).String() + " ahead"}
	case issued != nil && now.Before(issued.Add(-w.Leeway)):
		return &provider.VerifyError{Reason: provider.ReasonFutureTimestamp, Detail: "issued " + issued.Sub(now).Round(time.Second).String() + " ahead"}
	case w.MaxAge > 0 && now.After(issued.Add(w.MaxAge+w.Leeway)):
		return &provider.VerifyError{Reason: provider.ReasonOldTimestamp, Detail: "issued " + now.Sub(issued.Time).Round(time.Second).String() + " ago"}
	}
	return nil
}

// MadeFor reports whether a token's audiences include the given one.
func MadeFor(claims jwt.MapClaims, audience string) bool {
	audiences, err := claims.GetAudience()
	return err == nil && slices.Contains(audiences, audience)
}

// fits checks a token's claims about its request.
func (w *WebToken) fits(claims jwt.MapClaims, r *provider.Request) error {
	if w.Audience == "" && w.URLAudience {
		if r.URL == nil {
			return ErrNoURL
		}
		if !MadeFor(claims, endpoint(r)) {
			return &provider.VerifyError{Reason: provider.ReasonWrongAudience}
		}
	}
	if w.BodyHash == "" {
		return nil
	}
	text, _ := claims[w.BodyHash].(string)
	want, err := Hex.Decode(text)
	if sum := sha256.Sum256(r.Body); err != nil || !hmac.Equal(sum[:], want) {
		return &provider.VerifyError{Reason: provider.ReasonWrongBodyHash}
	}
	return nil
}

// endpoint returns the URL that the sender called, without query.
func endpoint(r *provider.Request) string {
	u := *r.URL
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// ReplayToken returns a hash of the token, or "" if the request has none.
func (w *WebToken) ReplayToken(r *provider.Request) string {
	token, err := w.token(r)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Check returns an error if a secret cannot be used. A secret verifies tokens or, if the
// sender publishes its keys, signs them.
func (w *WebToken) Check(s secret.Value) error {
	if w.Keys == nil {
		return webTokenSecret.Check(s)
	}
	_, err := ReadKey(s)
	return err
}

// Sign sets a token that is valid for five minutes. If the sender signs with a private key,
// the secret is that key.
func (w *WebToken) Sign(r *provider.Request, s secret.Value, now time.Time) error {
	sum := sha256.Sum256(r.Body)
	claims := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": FreshID("")}
	for name, value := range w.Claims {
		claims[name] = value
	}
	if len(w.Issuers) > 0 {
		claims["iss"] = w.Issuers[0]
	}
	switch {
	case w.Audience != "":
		claims["aud"] = w.Audience
	case w.URLAudience && r.URL == nil:
		return ErrNoURL
	case w.URLAudience:
		claims["aud"] = endpoint(r)
	}
	if w.BodyHash != "" {
		claims[w.BodyHash] = hex.EncodeToString(sum[:])
	}
	text, err := w.signed(claims, s)
	if err != nil {
		return err
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(w.Header, w.Prefix+text)
	return nil
}

// signed creates a token with the first algorithm that fits the key.
func (w *WebToken) signed(claims jwt.MapClaims, s secret.Value) (string, error) {
	if w.Keys == nil {
		key, err := webTokenSecret.Key(s)
		if err != nil {
			return "", err
		}
		return jwt.NewWithClaims(jwt.GetSigningMethod(w.Algorithms[0]), claims).SignedString(key)
	}
	key, err := ReadKey(s)
	if err != nil {
		return "", err
	}
	id, err := keyID(PublicOf(key))
	if err != nil {
		return "", err
	}
	for _, algorithm := range w.Algorithms {
		token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
		token.Header["kid"] = id
		if text, err := token.SignedString(key); err == nil {
			return text, nil
		}
	}
	return "", errPublicOnly
}
