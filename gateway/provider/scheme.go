package provider

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// scheme declares one way to sign a template: with an HMAC of a shared secret,
// or with a key pair. Nearly all senders are a value of it.
type scheme struct {
	// headers are the families of header names the scheme goes by. The first
	// one whose signature is there counts, all of it.
	headers []headerNames
	// pairs is how the header lists several values; nil for one signature.
	pairs *pairs
	// numbered: the signatures are in headers of that name with -1, -2, ...
	// behind it. They start at 1, without a gap.
	numbered bool
	// prefix stands before each signature.
	prefix string

	encoding encoding
	template template
	// Of an HMAC.
	hash   func() hash.Hash
	secret keySpelling
	// public replaces the HMAC by signatures of a key pair.
	public *keyPair

	unit      unit
	tolerance time.Duration // 0: off

	// single are further headers the provider's rules read. A request in
	// which one of them comes twice is refused: two readers could disagree.
	single []string
}

// headerNames is one family of header names, in canonical form.
type headerNames struct {
	signature, timestamp, id string
}

// pairs is a header that lists key and value pairs, of which several may be
// signatures.
type pairs struct {
	separator string // between pairs
	assign    string // between key and value
	signature string // key of a signature; others are ignored (downgrade)
	timestamp string // key of the time, at most one; empty for none
}

// claim is what a request says of itself, before any of it is proven.
type claim struct {
	signatures    [][]byte
	timestamp, id string
	signedAt      time.Time
}

// names returns the family of header names that h uses.
func (s *scheme) names(h http.Header) headerNames {
	for _, names := range s.headers {
		if len(h[s.signature(names)]) > 0 {
			return names
		}
	}
	return s.headers[0]
}

// signature is the header of the first signature.
func (s *scheme) signature(names headerNames) string {
	if s.numbered {
		return names.signature + "-1"
	}
	return names.signature
}

func (s *scheme) verify(_ context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	c, err := s.claim(r)
	if err != nil {
		return Verified{}, err
	}
	if s.template.has(inURL) && r.URL == nil {
		return Verified{}, errNoURL
	}
	index, err := s.match(secrets, r, c)
	if err != nil {
		return Verified{}, err
	}
	// The time counts only once it is proven: "old" then always means a
	// genuine delivery that came late, never noise.
	if s.template.has(inTimestamp) {
		if err := within(c.signedAt, now, s.tolerance); err != nil {
			return Verified{}, err
		}
	}
	return Verified{SecretIndex: index, SignedAt: c.signedAt}, nil
}

// match returns the index of the first secret that made one of the signatures.
func (s *scheme) match(secrets []secret.Value, r *Request, c claim) (int, error) {
	if s.public != nil {
		return s.public.match(secrets, c.signatures, s.template.text(r, c.timestamp, c.id))
	}
	return s.secret.match(secrets, c.signatures, func(key []byte) [][]byte {
		return [][]byte{s.mac(key, r, c.timestamp, c.id)}
	})
}

// checkSecret tells whether a secret may be configured.
func (s *scheme) checkSecret(v secret.Value) error {
	if s.public != nil {
		return s.public.check(v)
	}
	return s.secret.check(v)
}

// usable tells whether a key can be made of a secret, however short: senders
// sign with what they have.
func (s *scheme) usable(v secret.Value) error {
	if s.public != nil {
		return s.public.check(v)
	}
	_, err := s.secret.key(v)
	return err
}

// replayToken names what was signed, whatever the spelling of the signature
// and the secret it was made with.
func (s *scheme) replayToken(r *Request) string {
	c, err := s.claim(r)
	if err != nil || s.template.has(inURL) && r.URL == nil {
		return ""
	}
	h := sha256.New()
	s.template.write(h, r, c.timestamp, c.id)
	return hex.EncodeToString(h.Sum(nil))
}

var errNoURL = errors.New("the request has no URL, which the scheme signs")

func (s *scheme) mac(key []byte, r *Request, timestamp, id string) []byte {
	mac := hmac.New(s.hash, key)
	s.template.write(mac, r, timestamp, id)
	return mac.Sum(nil)
}

// claim reads the headers that carry the scheme.
func (s *scheme) claim(r *Request) (claim, error) {
	var c claim
	names := s.names(r.Header)
	spelled, err := s.spelled(r.Header, names)
	if err != nil {
		return c, err
	}
	for _, name := range s.single {
		if len(r.Header[name]) > 1 {
			return c, &VerifyError{Reason: ReasonDuplicateHeader, Detail: name}
		}
	}
	if s.pairs != nil {
		if spelled, c.timestamp, err = s.pairs.read(spelled[0]); err != nil {
			return c, err
		}
	}
	if c.signatures, err = s.decode(spelled); err != nil {
		return c, err
	}
	if s.template.has(inTimestamp) {
		if names.timestamp != "" {
			if c.timestamp, err = theHeader(r.Header, names.timestamp, ReasonMissingTimestamp); err != nil {
				return c, err
			}
		}
		if c.timestamp == "" {
			return c, &VerifyError{Reason: ReasonMissingTimestamp}
		}
		if c.signedAt, err = s.unit.parse(c.timestamp); err != nil {
			return c, &VerifyError{Reason: ReasonMalformedTimestamp, Detail: "unit is " + string(s.unit)}
		}
	}
	if s.template.has(inID) {
		if c.id, err = theHeader(r.Header, names.id, ReasonMissingID); err != nil {
			return c, err
		}
		if next := s.template.after(inID); next != "" && strings.Contains(c.id, next) {
			return c, &VerifyError{Reason: ReasonMalformedID, Detail: "contains what separates it from the next signed part"}
		}
	}
	return c, nil
}

// maxNumbered bounds numbered headers: senders allow up to 100 keys.
const maxNumbered = 100

// spelled returns the values of the signature header, or of all of them when
// they are numbered.
func (s *scheme) spelled(h http.Header, names headerNames) ([]string, error) {
	first, err := theHeader(h, s.signature(names), ReasonMissingSignature)
	if err != nil || !s.numbered {
		return []string{first}, err
	}
	spelled := []string{first}
	for i := 2; i <= maxNumbered; i++ {
		name := names.signature + "-" + strconv.Itoa(i)
		if len(h[name]) == 0 {
			break
		}
		value, err := theHeader(h, name, ReasonMissingSignature)
		if err != nil {
			return nil, err
		}
		spelled = append(spelled, value)
	}
	return spelled, nil
}

// decode returns the signatures that can be one; none is an error.
func (s *scheme) decode(spelled []string) ([][]byte, error) {
	var signatures [][]byte
	for _, text := range spelled {
		digits, ok := strings.CutPrefix(text, s.prefix)
		if !ok {
			continue
		}
		if signature, err := s.encoding.decode(digits); err == nil && len(signature) > 0 {
			signatures = append(signatures, signature)
		}
	}
	if len(signatures) == 0 {
		return nil, &VerifyError{Reason: ReasonMalformedSignature, Detail: "want " + s.prefix + "<" + string(s.encoding) + ">"}
	}
	return signatures, nil
}

// read returns the signatures and the time a header lists.
func (p *pairs) read(header string) (signatures []string, timestamp string, err error) {
	timed := false
	for pair := range strings.SplitSeq(header, p.separator) {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, p.assign)
		switch {
		case !ok:
			return nil, "", &VerifyError{Reason: ReasonMalformedSignature, Detail: "want key" + p.assign + "value"}
		case key == p.signature:
			signatures = append(signatures, value)
		case p.timestamp != "" && key == p.timestamp:
			if timed {
				return nil, "", &VerifyError{Reason: ReasonMalformedTimestamp, Detail: "more than one " + key}
			}
			timestamp, timed = value, true
		}
	}
	if len(signatures) == 0 {
		return nil, "", &VerifyError{Reason: ReasonMissingSignature, Detail: "no " + p.signature}
	}
	return signatures, timestamp, nil
}

// sign sets the headers that carry the scheme, of its first family unless the
// request uses another one.
func (s *scheme) sign(r *Request, key secret.Value, now time.Time) error {
	if err := s.usable(key); err != nil {
		return err
	}
	if s.template.has(inURL) && r.URL == nil {
		return errNoURL
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	names := s.names(r.Header)
	var timestamp, id string
	if s.template.has(inTimestamp) {
		timestamp = s.unit.format(now)
		if names.timestamp != "" {
			r.Header.Set(names.timestamp, timestamp)
		}
	}
	if s.template.has(inID) {
		if id = r.Header.Get(names.id); id == "" {
			id = freshID("msg_")
			r.Header.Set(names.id, id)
		}
	}
	made, err := s.make(key, r, timestamp, id)
	if err != nil {
		return err
	}
	signature := s.prefix + s.encoding.encode(made)
	if p := s.pairs; p != nil {
		signature = p.signature + p.assign + signature
		if p.timestamp != "" {
			signature = p.timestamp + p.assign + timestamp + p.separator + signature
		}
	}
	r.Header.Set(s.signature(names), signature)
	return nil
}

// make signs with one secret.
func (s *scheme) make(v secret.Value, r *Request, timestamp, id string) ([]byte, error) {
	if s.public != nil {
		return s.public.sign(v, s.template.text(r, timestamp, id))
	}
	key, err := s.secret.key(v)
	if err != nil {
		return nil, err
	}
	return s.mac(key, r, timestamp, id), nil
}

// theHeader returns the one value of a header that must come exactly once.
func theHeader(h http.Header, name string, missing Reason) (string, error) {
	switch values := h[name]; {
	case len(values) > 1:
		return "", &VerifyError{Reason: ReasonDuplicateHeader, Detail: name}
	case len(values) == 0 || values[0] == "":
		return "", &VerifyError{Reason: missing, Detail: name}
	default:
		return values[0], nil
	}
}
