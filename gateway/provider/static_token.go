package provider

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// staticToken declares the weakest scheme there is: the request carries the
// secret itself. Whoever sees one request can make any other, so that it needs
// TLS, and no replay guard helps.
type staticToken struct {
	header string // in canonical form; empty with query
	prefix string // of the header's value
	query  string // parameter of the URL
	// basic: the secret is user:password, as in RFC 7617.
	basic bool
	// single are further headers the provider's rules read; see scheme.
	single []string
}

var errNoPassword = errors.New("the secret is not user:password")

func (t *staticToken) verify(_ context.Context, r *Request, secrets []secret.Value, _ time.Time) (Verified, error) {
	for _, name := range t.single {
		if len(r.Header[name]) > 1 {
			return Verified{}, &VerifyError{Reason: ReasonDuplicateHeader, Detail: name}
		}
	}
	given, err := t.given(r)
	if err != nil {
		return Verified{}, err
	}
	index, err := t.match(secrets, given)
	return Verified{SecretIndex: index}, err
}

// given returns the token of a request.
func (t *staticToken) given(r *Request) (string, error) {
	if t.query != "" {
		return t.inQuery(r)
	}
	value, err := theHeader(r.Header, t.header, ReasonMissingToken)
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(value, t.prefix)
	if !ok || token == "" {
		return "", &VerifyError{Reason: ReasonMalformedToken, Detail: "want " + t.prefix + "<token>"}
	}
	if !t.basic {
		return token, nil
	}
	text, err := base64Std.decode(token)
	if err != nil {
		return "", &VerifyError{Reason: ReasonMalformedToken, Detail: "want " + t.prefix + "<base64>"}
	}
	return string(text), nil
}

func (t *staticToken) inQuery(r *Request) (string, error) {
	if r.URL == nil {
		return "", errNoURL
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case err != nil:
		return "", &VerifyError{Reason: ReasonMalformedToken, Detail: "the query of the URL cannot be read"}
	case len(values[t.query]) > 1:
		return "", &VerifyError{Reason: ReasonMalformedToken, Detail: "more than one " + t.query}
	case values.Get(t.query) == "":
		return "", &VerifyError{Reason: ReasonMissingToken, Detail: t.query}
	}
	return values.Get(t.query), nil
}

// match compares with all secrets in constant time, whatever their lengths.
func (t *staticToken) match(secrets []secret.Value, given string) (int, error) {
	if len(secrets) == 0 {
		return 0, errNoSecret
	}
	matched, sum := -1, sha256.Sum256([]byte(given))
	var unusable error
	for i, s := range secrets {
		if err := t.check(s); err != nil {
			unusable = err
			continue
		}
		want := sha256.Sum256([]byte(s.Reveal()))
		if subtle.ConstantTimeCompare(want[:], sum[:]) == 1 && matched < 0 {
			matched = i
		}
	}
	switch {
	case matched >= 0:
		return matched, nil
	case unusable != nil:
		return 0, unusable
	}
	return 0, &VerifyError{Reason: ReasonWrongToken}
}

func (t *staticToken) check(s secret.Value) error {
	switch {
	case s.IsZero():
		return errEmptySecret
	case t.basic && strings.IndexByte(s.Reveal(), ':') < 0:
		return errNoPassword
	}
	return nil
}

// checkConfigured is check, and refuses passwords that could be guessed.
func (t *staticToken) checkConfigured(s secret.Value) error {
	if err := t.check(s); err != nil || !t.basic {
		return err
	}
	return checkPassword(s)
}

func (t *staticToken) sign(r *Request, s secret.Value, _ time.Time) error {
	if err := t.check(s); err != nil {
		return err
	}
	if t.query != "" {
		if r.URL == nil {
			return errNoURL
		}
		u := *r.URL
		query := u.Query()
		query.Set(t.query, s.Reveal())
		u.RawQuery = query.Encode()
		r.URL = &u
		return nil
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	token := s.Reveal()
	if t.basic {
		token = base64.StdEncoding.EncodeToString([]byte(token))
	}
	r.Header.Set(t.header, t.prefix+token)
	return nil
}

// byToken makes a provider that proves by a token, with events as the options
// describe them.
func byToken(o Options, t *staticToken) (*Provider, error) {
	g, err := newOwnEvents(o, field{})
	if err != nil {
		return nil, err
	}
	// The header of the token may not be one that describes events.
	if slices.Contains(g.headers(), t.header) {
		return nil, &OptionError{Field: "event_id", Value: t.header, Allowed: "another header than that of the secret"}
	}
	t.single = g.headers()
	p := &Provider{
		Verify:      t.verify,
		Events:      g.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: t.checkConfigured,
		Sign:        t.sign,
		Sample:      g.sample,
	}
	if t.query != "" {
		p.SecretQuery = []string{t.query}
	} else {
		p.SecretHeaders = []string{t.header}
	}
	return p, nil
}
