package proof

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// StaticToken declares the weakest scheme: the request carries the secret itself. Anyone who
// sees one request can forge any other, so the scheme needs TLS, and no replay guard helps.
type StaticToken struct {
	Header string // in canonical form; empty if Query is set
	Prefix string // prefix of the header's value
	Query  string // URL parameter
	// Basic is true if the secret is user:password, as RFC 7617 defines it.
	Basic bool
	// Single lists additional headers that the provider's rules read; see Scheme.
	Single []string
}

var errNoPassword = errors.New("the secret is not user:password")

// Verify compares a request's token with the secrets in constant time.
func (t *StaticToken) Verify(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (provider.Verified, error) {
	for _, name := range t.Single {
		if len(r.Header[name]) > 1 {
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: name}
		}
	}
	given, err := t.given(r)
	if err != nil {
		return provider.Verified{}, err
	}
	index, err := t.Match(secrets, given)
	if plain := strings.ReplaceAll(given, " ", "+"); isReason(err, provider.ReasonWrongToken) && t.Query != "" && plain != given {
		index, err = t.Match(secrets, plain) // the token may contain + and may have been pasted into the URL without escaping
	}
	return provider.Verified{SecretIndex: index}, err
}

// given returns a request's token.
func (t *StaticToken) given(r *provider.Request) (string, error) {
	if t.Query != "" {
		return t.inQuery(r)
	}
	value, err := TheHeader(r.Header, t.Header, provider.ReasonMissingToken)
	if err != nil {
		return "", err
	}
	token, ok := CutPrefix(value, t.Prefix)
	if !ok || token == "" {
		return "", &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "want " + t.Prefix + "<token>"}
	}
	if !t.Basic {
		return token, nil
	}
	text, err := Base64.Decode(token)
	if err != nil {
		return "", &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "want " + t.Prefix + "<base64>"}
	}
	return string(text), nil
}

func (t *StaticToken) inQuery(r *provider.Request) (string, error) {
	if r.URL == nil {
		return "", ErrNoURL
	}
	values := payload.ParseForm(r.URL.RawQuery)
	switch {
	case len(values[t.Query]) > 1:
		return "", &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "more than one " + t.Query}
	case values.Get(t.Query) == "":
		return "", &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: t.Query}
	}
	return values.Get(t.Query), nil
}

// Match returns the index of the secret that equals a token. It compares the token with all secrets
// in constant time, whatever their lengths.
func (t *StaticToken) Match(secrets []secret.Value, given string) (int, error) {
	if len(secrets) == 0 {
		return 0, ErrNoSecret
	}
	matched, sum := -1, sha256.Sum256([]byte(given))
	var unusable error
	for i, s := range secrets {
		if err := t.Check(s); err != nil {
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
	return 0, &provider.VerifyError{Reason: provider.ReasonWrongToken}
}

// Check returns an error if a secret cannot be the token. It accepts weak secrets.
func (t *StaticToken) Check(s secret.Value) error {
	switch {
	case s.IsZero():
		return ErrEmptySecret
	case t.Basic && strings.IndexByte(s.Reveal(), ':') < 0:
		return errNoPassword
	}
	return nil
}

// CheckConfigured is like Check, but also refuses a short password if Basic is set.
func (t *StaticToken) CheckConfigured(s secret.Value) error {
	if err := t.Check(s); err != nil || !t.Basic {
		return err
	}
	return CheckPassword(s)
}

// Sign puts the secret at the location where Verify looks for it.
func (t *StaticToken) Sign(r *provider.Request, s secret.Value, _ time.Time) error {
	if err := t.Check(s); err != nil {
		return err
	}
	if t.Query != "" {
		if r.URL == nil {
			return ErrNoURL
		}
		u := *r.URL
		query := payload.ParseForm(u.RawQuery)
		query.Set(t.Query, s.Reveal())
		u.RawQuery = query.Encode()
		r.URL = &u
		return nil
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	token := s.Reveal()
	if t.Basic {
		token = base64.StdEncoding.EncodeToString([]byte(token))
	}
	r.Header.Set(t.Header, t.Prefix+token)
	return nil
}

// Normal converts a value that carries a token to the spelling that Sign writes. It returns any
// other value unchanged.
func (t *StaticToken) Normal(value string) string {
	if t.Query != "" {
		return strings.ReplaceAll(value, " ", "+") // Verify also accepts the value with spaces
	}
	token, ok := CutPrefix(value, t.Prefix)
	if !ok {
		return value
	}
	if t.Basic {
		text, err := Base64.Decode(token)
		if err != nil {
			return value
		}
		token = Base64.Encode(text)
	}
	return t.Prefix + token
}

// ByToken builds a provider that verifies a token and reads events as the options describe.
func ByToken(o provider.Options, t *StaticToken) (*provider.Provider, error) {
	g, err := NewOwnEvents(o, Field{})
	if err != nil {
		return nil, err
	}
	// The token's header must not be one that describes events.
	if slices.Contains(g.Headers(), t.Header) {
		return nil, &provider.OptionError{Field: "event_id", Value: t.Header, Allowed: "must differ from the header of the secret"}
	}
	t.Single = g.Headers()
	p := &provider.Provider{
		Verify:      t.Verify,
		Challenge:   ChallengeOf(t.Header, t.Prefix),
		Events:      g.Events,
		CheckSecret: t.CheckConfigured,
		Sign:        t.Sign,
		Sample:      g.Sample,

		NormalSecret: t.Normal,
	}
	if t.Query != "" {
		p.SecretQuery = []string{t.Query}
	} else {
		p.SecretHeaders = []string{t.Header}
	}
	return p, nil
}
