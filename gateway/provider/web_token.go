package provider

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

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// webToken declares a JSON Web Token (RFC 7519) that comes with each request.
type webToken struct {
	header string // in canonical form
	prefix string // of the header's value

	algorithms []string  // that are allowed; all HS* without keys, none HS* with
	keys       keyFinder // nil: the secrets of the source

	issuers     []string // the token has one of them; empty: any
	audience    string   // empty: any, unless urlAudience
	urlAudience bool     // where audience is empty, it is the URL of the endpoint
	claims      map[string]string
	bodyHash    string        // claim with the SHA-256 of the body in hex; empty: none
	maxAge      time.Duration // since iat; 0: what exp says
	leeway      time.Duration // between the two clocks

	single []string // further headers the provider's rules read; see scheme
}

const (
	// maxWebToken is the longest token, in bytes. Real ones have 1 to 2 kB.
	maxWebToken = 16 << 10
	// standardLeeway is allowed between the clocks of a token.
	standardLeeway = time.Minute
)

// Algorithms of tokens that are signed with a secret, and with a key pair.
var (
	secretAlgorithms = []string{"HS256", "HS384", "HS512"}
	publicAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)

// bearer is how tokens stand in the header Authorization.
const (
	authorization = "Authorization"
	bearer        = "Bearer "
)

// segments reads tokens strictly. What they say of time is checked apart.
var segments = jwt.NewParser(jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())

func (w *webToken) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	for _, name := range w.single {
		if len(r.Header[name]) > 1 {
			return Verified{}, &VerifyError{Reason: ReasonDuplicateHeader, Detail: name}
		}
	}
	token, err := w.token(r)
	if err != nil {
		return Verified{}, err
	}
	claims, index, err := w.proven(ctx, token, secrets, now)
	if err != nil {
		return Verified{}, err
	}
	if err := w.fits(claims, r); err != nil {
		return Verified{}, err
	}
	verified := Verified{SecretIndex: index}
	if issued, err := claims.GetIssuedAt(); err == nil && issued != nil {
		verified.SignedAt = issued.Time
	}
	return verified, nil
}

// token returns the token a request came with.
func (w *webToken) token(r *Request) (string, error) {
	value, err := theHeader(r.Header, w.header, ReasonMissingToken)
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(value, w.prefix)
	if !ok {
		return "", &VerifyError{Reason: ReasonMalformedToken, Detail: "want " + w.prefix + "<token>"}
	}
	return token, nil
}

// proven checks a token by itself: who signed it, for whom and when. It is
// also for tokens that stand elsewhere. Errors: as those of Provider.Verify.
func (w *webToken) proven(ctx context.Context, text string, secrets []secret.Value, now time.Time) (jwt.MapClaims, int, error) {
	token, claims, signature, err := w.read(text)
	if err != nil {
		return nil, 0, err
	}
	signed := text[:strings.LastIndexByte(text, '.')]
	index, err := w.match(ctx, token, signed, signature, secrets, now)
	if err != nil {
		return nil, 0, err
	}
	return claims, index, w.valid(claims, now)
}

// read takes a token apart. Nothing in it is proven yet.
func (w *webToken) read(text string) (*jwt.Token, jwt.MapClaims, []byte, error) {
	if len(text) > maxWebToken {
		return nil, nil, nil, &VerifyError{Reason: ReasonMalformedToken, Detail: "longer than 16 KiB"}
	}
	claims := jwt.MapClaims{}
	token, parts, err := segments.ParseUnverified(text, claims)
	if err != nil && !errors.Is(err, jwt.ErrTokenUnverifiable) { // that one is of an unknown algorithm
		return nil, nil, nil, &VerifyError{Reason: ReasonMalformedToken, Detail: "not a signed JSON Web Token"}
	}
	algorithm, _ := token.Header["alg"].(string)
	if !slices.Contains(w.algorithms, algorithm) || token.Method == nil {
		return nil, nil, nil, &VerifyError{Reason: ReasonForbiddenAlgorithm, Detail: "want " + strings.Join(w.algorithms, " or ")}
	}
	if token.Header["crit"] != nil { // RFC 7515, 4.1.11: what we do not know must not be passed over
		return nil, nil, nil, &VerifyError{Reason: ReasonMalformedToken, Detail: "has a critical extension"}
	}
	signature, err := segments.DecodeSegment(parts[2])
	if err != nil || len(signature) == 0 {
		return nil, nil, nil, &VerifyError{Reason: ReasonMalformedToken, Detail: "the signature is not base64url"}
	}
	return token, claims, signature, nil
}

// plausible refuses a request by what its token says of time and body, so that
// no key is fetched for what could not be taken anyway. None of it is proven:
// that nothing is refused means nothing.
func (w *webToken) plausible(r *Request, now time.Time) error {
	text, err := w.token(r)
	if err != nil {
		return err
	}
	_, claims, _, err := w.read(text)
	if err != nil {
		return err
	}
	if err := w.inTime(claims, now); err != nil {
		return err
	}
	return w.fits(claims, r)
}

// match finds the secret or the key a token is signed with.
func (w *webToken) match(ctx context.Context, token *jwt.Token, signed string, signature []byte, secrets []secret.Value, now time.Time) (int, error) {
	if w.keys == nil {
		return webTokenSecret.match(secrets, [][]byte{{1}}, func(key []byte) [][]byte {
			if token.Method.Verify(signed, signature, key) != nil {
				return [][]byte{{0}}
			}
			return [][]byte{{1}}
		})
	}
	id, _ := token.Header["kid"].(string)
	keys, err := w.keys(ctx, id, now)
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
		return 0, &VerifyError{Reason: ReasonUnknownKey}
	}
	return 0, &VerifyError{Reason: ReasonWrongSignature}
}

var webTokenSecret = keySpelling{encoding: rawBytes}

// valid checks what a proven token says, without regard to the request.
func (w *webToken) valid(claims jwt.MapClaims, now time.Time) error {
	if err := w.inTime(claims, now); err != nil {
		return err
	}
	if issuer, err := claims.GetIssuer(); err != nil || len(w.issuers) > 0 && !slices.Contains(w.issuers, issuer) {
		return &VerifyError{Reason: ReasonWrongIssuer}
	}
	if w.audience != "" && !madeFor(claims, w.audience) {
		return &VerifyError{Reason: ReasonWrongAudience}
	}
	for name, want := range w.claims {
		if got, ok := claims[name]; !ok || fmt.Sprint(got) != want {
			return &VerifyError{Reason: ReasonWrongClaim, Detail: name}
		}
	}
	return nil
}

// inTime checks exp, nbf and iat. A token that never expires is taken only
// where it is bound to a body or its age is.
func (w *webToken) inTime(claims jwt.MapClaims, now time.Time) error {
	expires, expiryErr := claims.GetExpirationTime()
	starts, startErr := claims.GetNotBefore()
	issued, issueErr := claims.GetIssuedAt()
	switch {
	case expiryErr != nil || startErr != nil || issueErr != nil:
		return &VerifyError{Reason: ReasonMalformedTimestamp, Detail: "exp, nbf or iat is no number"}
	case expires == nil && w.bodyHash == "" && w.maxAge == 0:
		return &VerifyError{Reason: ReasonMissingTimestamp, Detail: "exp"}
	case issued == nil && w.maxAge > 0:
		return &VerifyError{Reason: ReasonMissingTimestamp, Detail: "iat"}
	case expires != nil && now.After(expires.Add(w.leeway)):
		return &VerifyError{Reason: ReasonExpired, Detail: now.Sub(expires.Time).Round(time.Second).String() + " ago"}
	case starts != nil && now.Before(starts.Add(-w.leeway)):
		return &VerifyError{Reason: ReasonNotYetValid, Detail: "nbf is " + starts.Sub(now).Round(time.Second).String() + " ahead"}
	case issued != nil && now.Before(issued.Add(-w.leeway)):
		return &VerifyError{Reason: ReasonFutureTimestamp, Detail: "issued " + issued.Sub(now).Round(time.Second).String() + " ahead"}
	case w.maxAge > 0 && now.After(issued.Add(w.maxAge+w.leeway)):
		return &VerifyError{Reason: ReasonOldTimestamp, Detail: "issued " + now.Sub(issued.Time).Round(time.Second).String() + " ago"}
	}
	return nil
}

func madeFor(claims jwt.MapClaims, audience string) bool {
	audiences, err := claims.GetAudience()
	return err == nil && slices.Contains(audiences, audience)
}

// fits checks what a token says of its request.
func (w *webToken) fits(claims jwt.MapClaims, r *Request) error {
	if w.audience == "" && w.urlAudience {
		if r.URL == nil {
			return errNoURL
		}
		if !madeFor(claims, endpoint(r)) {
			return &VerifyError{Reason: ReasonWrongAudience}
		}
	}
	if w.bodyHash == "" {
		return nil
	}
	text, _ := claims[w.bodyHash].(string)
	want, err := hexDigits.decode(text)
	if sum := sha256.Sum256(r.Body); err != nil || !hmac.Equal(sum[:], want) {
		return &VerifyError{Reason: ReasonWrongBodyHash}
	}
	return nil
}

// endpoint is the URL of the source as the sender was given it, without query.
func endpoint(r *Request) string {
	u := *r.URL
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// replayToken names the token itself.
func (w *webToken) replayToken(r *Request) string {
	token, err := w.token(r)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// check tells whether a secret can be used: to prove tokens with, or, where
// the sender publishes its keys, to sign with.
func (w *webToken) check(s secret.Value) error {
	if w.keys == nil {
		return webTokenSecret.check(s)
	}
	_, err := readKey(s)
	return err
}

// sign sets a token that is proven for five minutes. Where the sender signs
// with a private key, the secret is that key.
func (w *webToken) sign(r *Request, s secret.Value, now time.Time) error {
	sum := sha256.Sum256(r.Body)
	claims := jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": freshID("")}
	for name, value := range w.claims {
		claims[name] = value
	}
	if len(w.issuers) > 0 {
		claims["iss"] = w.issuers[0]
	}
	switch {
	case w.audience != "":
		claims["aud"] = w.audience
	case w.urlAudience && r.URL == nil:
		return errNoURL
	case w.urlAudience:
		claims["aud"] = endpoint(r)
	}
	if w.bodyHash != "" {
		claims[w.bodyHash] = hex.EncodeToString(sum[:])
	}
	text, err := w.signed(claims, s)
	if err != nil {
		return err
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(w.header, w.prefix+text)
	return nil
}

// signed makes a token with the first algorithm that fits the key.
func (w *webToken) signed(claims jwt.MapClaims, s secret.Value) (string, error) {
	if w.keys == nil {
		key, err := webTokenSecret.key(s)
		if err != nil {
			return "", err
		}
		return jwt.NewWithClaims(jwt.GetSigningMethod(w.algorithms[0]), claims).SignedString(key)
	}
	key, err := readKey(s)
	if err != nil {
		return "", err
	}
	id, err := keyID(publicOf(key))
	if err != nil {
		return "", err
	}
	for _, algorithm := range w.algorithms {
		token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
		token.Header["kid"] = id
		if text, err := token.SignedString(key); err == nil {
			return text, nil
		}
	}
	return "", errPublicOnly
}
