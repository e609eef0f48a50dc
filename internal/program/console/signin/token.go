package signin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// MinToken is the minimum length of a token in bytes. A valid token is accepted after any number of
// wrong ones, so it must not be guessable.
const MinToken = 16

// Token is a machine's or a user's token.
type Token struct {
	// Name is the bearer's name in the operator log. If empty, the bearer may give a name, which is
	// not verified.
	Name string
	// Role is the bearer's role.
	Role Role
	// Secret is the token itself.
	Secret secret.Value
}

// credential is a token with its hash: the time for comparing hashes reveals neither a token's
// content nor its length.
type credential struct {
	Token

	sum [sha256.Size]byte
}

// credentials are the current tokens.
type credentials []credential

func credentialsOf(tokens []Token) *credentials {
	list := make(credentials, 0, len(tokens))
	for _, t := range tokens {
		if !t.Secret.IsZero() {
			list = append(list, credential{t, sha256.Sum256([]byte(t.Secret.Reveal()))})
		}
	}
	return &list
}

// find returns the given token, if it is in the list. It always compares all tokens, so that the
// time reveals nothing.
func (list credentials) find(given string) (found Token, ok bool) {
	sum := sha256.Sum256([]byte(given))
	at := -1
	for i := range list {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], list[i].sum[:]), i, at)
	}
	if at < 0 {
		return Token{}, false
	}
	return list[at].Token, true
}

// bearer returns a token's bearer. If the token has no name, the bearer gets the given name, unless
// another token has that name.
func (list credentials) bearer(t Token, given string) Person {
	name := t.Name
	if name == "" {
		name = nameOf(given)
		if slices.ContainsFunc(list, func(other credential) bool { return strings.EqualFold(other.Name, name) }) {
			name = Nameless
		}
	}
	return Person{Name: name, Role: t.Role, Way: WayToken}
}

// nameOf returns a name without surrounding spaces, or Nameless if the name is empty or cannot be
// recorded.
func nameOf(given string) string {
	const most = 255
	if given = strings.TrimSpace(given); given == "" || len(given) > most || safetext.Storable(given) != given {
		return Nameless
	}
	return given
}

// IsBearer reports whether a request carries a bearer token, which no web site can make a browser
// send.
func IsBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// presented returns the token in r and the name given with it. It reads Authorization: Bearer, or
// the password in Authorization: Basic, which every client can send.
func presented(r *http.Request) (token, name string) {
	if user, password, ok := r.BasicAuth(); ok {
		return password, user
	}
	if !IsBearer(r) {
		return "", ""
	}
	_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ""
}
