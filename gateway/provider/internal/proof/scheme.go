// Package proof verifies a request's sender and extracts its events. It contains the schemes
// and rules with which senders are declared, and the rules for dedup keys.
package proof

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Scheme declares one way to sign a template: with an HMAC whose key is a shared secret, or with a
// key pair. Most senders are declared as a Scheme.
type Scheme struct {
	// Headers are the scheme's header families. A request uses the first family whose signature is
	// present.
	Headers []HeaderNames
	// Pairs declares how the header lists several values; nil for one signature.
	Pairs *Pairs
	// Numbered is true if the signatures are in headers with the suffixes -1, -2, ... The
	// numbers start at 1, without a gap.
	Numbered bool
	// Prefix precedes each signature.
	Prefix string

	Encoding Encoding
	Template Template
	// Hash and Secret declare an HMAC.
	Hash   func() hash.Hash
	Secret KeySpelling
	// Public replaces the HMAC with a key pair's signatures.
	Public *KeyPair

	Unit      Unit
	Tolerance time.Duration // 0: no limit

	// Single lists additional headers that the provider's rules read. A request that repeats one of
	// them is refused, because two programs could read different values from it.
	Single []string
}

// HeaderNames is one family of header names, in canonical form.
type HeaderNames struct {
	Signature, Timestamp, ID string
}

// Pairs describes a header that lists key and value pairs. Several pairs may be signatures.
type Pairs struct {
	Separator string // text between pairs
	Assign    string // text between key and value
	Signature string // a signature's key; other keys are ignored, to prevent a downgrade
	Timestamp string // the time's key, which may appear only once; empty for none
	Bare      bool   // a value without a key is a signature too
}

// TimedBody declares the scheme that Stripe introduced and other senders adopted. One header, such
// as t=...,v1=..., contains the time and an HMAC-SHA256 of time and body. The header may contain
// several v1 pairs while a secret is rotated. The secret itself is the key.
func TimedBody(header string, unit Unit, tolerance time.Duration) *Scheme {
	return &Scheme{
		Headers:   []HeaderNames{{Signature: header}},
		Pairs:     &Pairs{Separator: ",", Assign: "=", Signature: "v1", Timestamp: "t"},
		Hash:      sha256.New,
		Encoding:  Hex,
		Template:  Template{InTimestamp, ".", InBody},
		Secret:    KeySpelling{Encoding: Raw},
		Unit:      unit,
		Tolerance: tolerance,
	}
}

// SignedBody declares one header that contains prefix, followed by an HMAC-SHA256 of the body
// alone. The secret itself is the key.
func SignedBody(header, prefix string, encoding Encoding) *Scheme {
	return &Scheme{
		Headers:  []HeaderNames{{Signature: header}},
		Prefix:   prefix,
		Hash:     sha256.New,
		Encoding: encoding,
		Template: Template{InBody},
		Secret:   KeySpelling{Encoding: Raw},
	}
}

// SignedBy sets p's functions for a sender that signs with one scheme, and returns p.
func SignedBy(s *Scheme, p *provider.Provider) *provider.Provider {
	p.Verify, p.CheckSecret, p.Sign = s.Verify, s.CheckSecret, s.Sign
	return p
}

// IsSignature reports whether a header's value is a signature of the scheme and not a credential.
// The signature may be in a spelling that the scheme does not expect.
func (s *Scheme) IsSignature(name, value string) bool {
	if !slices.ContainsFunc(s.Headers, func(names HeaderNames) bool { return names.Signature == name }) {
		return false
	}
	if _, expected := CutPrefix(value, s.Prefix); expected && s.Prefix != "" {
		return true
	}
	_, basic := CutPrefix(value, Basic)
	_, bearer := CutPrefix(value, Bearer)
	return !basic && !bearer
}

// Claim contains the values of a request's signature headers. None of them is verified yet.
type Claim struct {
	Signatures    [][]byte
	Timestamp, id string
	SignedAt      time.Time
}

// Names returns the header family that h uses, or the first family if h uses none.
func (s *Scheme) Names(h http.Header) HeaderNames {
	for _, names := range s.Headers {
		if len(h[s.signature(names)]) > 0 {
			return names
		}
	}
	return s.Headers[0]
}

// signature returns the name of the first signature's header.
func (s *Scheme) signature(names HeaderNames) string {
	if s.Numbered {
		return names.Signature + "-1"
	}
	return names.Signature
}

// Verify verifies a request with the scheme, as Provider.Verify describes.
func (s *Scheme) Verify(_ context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	c, err := s.Claim(r)
	if err != nil {
		return provider.Verified{}, err
	}
	if s.Template.Has(InURL) && r.URL == nil {
		return provider.Verified{}, ErrNoURL
	}
	index, err := s.Match(secrets, r, c)
	if err != nil {
		return provider.Verified{}, err
	}
	// The time is checked only after the signature: the reason old_timestamp then always means that
	// a genuine delivery arrived late.
	if s.Template.Has(InTimestamp) {
		if err := Within(c.SignedAt, now, s.Tolerance); err != nil {
			return provider.Verified{}, err
		}
	}
	return provider.Verified{SecretIndex: index, SignedAt: c.SignedAt}, nil
}

// Match returns the index of the first secret that made one of the signatures.
func (s *Scheme) Match(secrets []secret.Value, r *provider.Request, c Claim) (int, error) {
	if s.Public != nil {
		return s.Public.Match(secrets, c.Signatures, s.Template.Text(r, c.Timestamp, c.id))
	}
	return s.Secret.Match(secrets, c.Signatures, func(key []byte) [][]byte {
		return [][]byte{s.mac(key, r, c.Timestamp, c.id)}
	})
}

// CheckSecret returns an error if a secret must not be configured.
func (s *Scheme) CheckSecret(v secret.Value) error {
	if s.Public != nil {
		return s.Public.Check(v)
	}
	return s.Secret.Check(v)
}

// usable returns an error if no key can be derived from a secret. It allows short secrets,
// which CheckSecret refuses.
func (s *Scheme) usable(v secret.Value) error {
	if s.Public != nil {
		return s.Public.Check(v)
	}
	_, err := s.Secret.Key(v)
	return err
}

// ReplayToken returns a hash of the signed content. It returns "" if the scheme's headers cannot be
// read, or if the scheme signs a URL that is unknown. The hash does not depend on the signature's
// spelling or the secret.
func (s *Scheme) ReplayToken(r *provider.Request) string {
	c, err := s.Claim(r)
	if err != nil || s.Template.Has(InURL) && r.URL == nil {
		return ""
	}
	h := sha256.New()
	s.Template.write(h, r, c.Timestamp, c.id)
	return hex.EncodeToString(h.Sum(nil))
}

// TokenByType extends a replay token with the unsigned header that contains the type. It is for
// senders that send the same body for several events of different types.
func TokenByType(token func(*provider.Request) string, header string) func(*provider.Request) string {
	return func(r *provider.Request) string {
		content := token(r)
		if content == "" {
			return ""
		}
		return HashOf(content, r.Header.Get(header))
	}
}

// ErrNoURL means that the request's public URL is unknown, although the scheme signs it.
var ErrNoURL = errors.New("the request has no URL, which the scheme signs")

func (s *Scheme) mac(key []byte, r *provider.Request, timestamp, id string) []byte {
	mac := hmac.New(s.Hash, key)
	s.Template.write(mac, r, timestamp, id)
	return mac.Sum(nil)
}

// Claim reads the scheme's headers.
func (s *Scheme) Claim(r *provider.Request) (Claim, error) {
	var c Claim
	names := s.Names(r.Header)
	spelled, err := s.spelled(r.Header, names)
	if err != nil {
		return c, err
	}
	for _, name := range s.Single {
		if len(r.Header[name]) > 1 {
			return c, &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: name}
		}
	}
	if s.Pairs != nil {
		if spelled, c.Timestamp, err = s.Pairs.read(spelled[0]); err != nil {
			return c, err
		}
	}
	if c.Signatures, err = s.Decode(spelled); err != nil {
		return c, err
	}
	if s.Template.Has(InTimestamp) {
		if names.Timestamp != "" {
			if c.Timestamp, err = TheHeader(r.Header, names.Timestamp, provider.ReasonMissingTimestamp); err != nil {
				return c, err
			}
		}
		if c.Timestamp == "" {
			return c, &provider.VerifyError{Reason: provider.ReasonMissingTimestamp}
		}
		if c.SignedAt, err = s.Unit.Parse(c.Timestamp); err != nil {
			return c, &provider.VerifyError{Reason: provider.ReasonMalformedTimestamp, Detail: "unit is " + string(s.Unit)}
		}
	}
	if s.Template.Has(InID) {
		if c.id, err = TheHeader(r.Header, names.ID, provider.ReasonMissingID); err != nil {
			return c, err
		}
		if !s.isDivisible(c.id, r.Body) {
			return c, &provider.VerifyError{Reason: provider.ReasonMalformedID, Detail: "contains the separator of the signed parts"}
		}
	}
	return c, nil
}

// maxNumbered is the maximum number of numbered headers that are read. Senders allow up to 100
// keys.
const maxNumbered = 100

// spelled returns the signature header's values, or the values of all numbered signature
// headers.
func (s *Scheme) spelled(h http.Header, names HeaderNames) ([]string, error) {
	first, err := TheHeader(h, s.signature(names), provider.ReasonMissingSignature)
	if err != nil || !s.Numbered {
		return []string{first}, err
	}
	spelled := []string{first}
	for i := 2; i <= maxNumbered; i++ {
		name := names.Signature + "-" + strconv.Itoa(i)
		if len(h[name]) == 0 {
			break
		}
		value, err := TheHeader(h, name, provider.ReasonMissingSignature)
		if err != nil {
			return nil, err
		}
		spelled = append(spelled, value)
	}
	return spelled, nil
}

// Decode decodes the values that can be signatures and ignores the others. It returns an error if
// no value can be a signature.
func (s *Scheme) Decode(spelled []string) ([][]byte, error) {
	var signatures [][]byte
	for _, text := range spelled {
		digits, ok := CutPrefix(text, s.Prefix)
		if !ok {
			continue
		}
		if signature, err := s.Encoding.Decode(digits); err == nil && len(signature) > 0 {
			signatures = append(signatures, signature)
		}
	}
	if len(signatures) == 0 {
		return nil, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want " + s.Prefix + "<" + string(s.Encoding) + ">"}
	}
	return signatures, nil
}

// read returns the signatures and the time that a header lists.
func (p *Pairs) read(header string) (signatures []string, timestamp string, err error) {
	timed := false
	for pair := range strings.SplitSeq(header, p.Separator) {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, p.Assign)
		switch {
		case !ok && p.Bare:
			signatures = append(signatures, pair)
		case !ok:
			return nil, "", &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want key" + p.Assign + "value"}
		case key == p.Signature:
			signatures = append(signatures, value)
		case p.Timestamp != "" && key == p.Timestamp:
			if timed {
				return nil, "", &provider.VerifyError{Reason: provider.ReasonMalformedTimestamp, Detail: "more than one " + key}
			}
			timestamp, timed = value, true
		}
	}
	if len(signatures) == 0 {
		return nil, "", &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "no " + p.Signature}
	}
	return signatures, timestamp, nil
}

// Sign sets the scheme's headers. It uses the first family unless the request uses another
// one.
func (s *Scheme) Sign(r *provider.Request, key secret.Value, now time.Time) error {
	if err := s.usable(key); err != nil {
		return err
	}
	if s.Template.Has(InURL) && r.URL == nil {
		return ErrNoURL
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	names := s.Names(r.Header)
	var timestamp, id string
	if s.Template.Has(InTimestamp) {
		timestamp = s.Unit.Format(now)
		if names.Timestamp != "" {
			r.Header.Set(names.Timestamp, timestamp)
		}
	}
	if s.Template.Has(InID) {
		if id = r.Header.Get(names.ID); id == "" {
			id = FreshID("msg_")
			r.Header.Set(names.ID, id)
		}
	}
	made, err := s.make(key, r, timestamp, id)
	if err != nil {
		return err
	}
	signature := s.Prefix + s.Encoding.Encode(made)
	if p := s.Pairs; p != nil {
		signature = p.Signature + p.Assign + signature
		if p.Timestamp != "" {
			signature = p.Timestamp + p.Assign + timestamp + p.Separator + signature
		}
	}
	r.Header.Set(s.signature(names), signature)
	return nil
}

// make creates the signature with one secret.
func (s *Scheme) make(v secret.Value, r *provider.Request, timestamp, id string) ([]byte, error) {
	if s.Public != nil {
		return s.Public.Sign(v, s.Template.Text(r, timestamp, id))
	}
	key, err := s.Secret.Key(v)
	if err != nil {
		return nil, err
	}
	return s.mac(key, r, timestamp, id), nil
}

// TheHeader returns the only value of a header that must appear exactly once. missing is the reason
// for the refusal if the header is missing or empty. Errors: *VerifyError.
func TheHeader(h http.Header, name string, missing provider.Reason) (string, error) {
	switch values := h[name]; {
	case len(values) > 1:
		return "", &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: name}
	case len(values) == 0 || values[0] == "":
		return "", &provider.VerifyError{Reason: missing, Detail: name}
	default:
		return values[0], nil
	}
}
