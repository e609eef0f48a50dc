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

// MinToken is the least length of a token in bytes. A right token is taken however many
// wrong ones came before, so nobody may be able to guess it.
const MinToken = 16

// Token is one that a machine or a person may carry.
type Token struct {
	// Name is whose it is, for the record. Empty: whoever carries it may say a name,
	// which is not checked.
	Name string
	// Role is what it lets its bearer do.
	Role Role
	// Secret is the token itself.
	Secret secret.Value
}

// credential is a token with its hash: comparing hashes lets neither content nor length
// show in the time it takes.
type credential struct {
	Token

	sum [sha256.Size]byte
}

// credentials are the tokens in effect.
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

// find is the one that was given. All are looked at, whichever it is.
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

// bearer is the person who carries a token, with the name that the person gives where the
// token has none. That cannot be the name of another token.
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

// nameOf is a name that a person gives, which is not checked, as it goes into records.
func nameOf(given string) string {
	const most = 255
	if given = strings.TrimSpace(given); given == "" || len(given) > most || safetext.Storable(given) != given {
		return Nameless
	}
	return given
}

// IsBearer reports whether a request carries a token as a bearer, which no web site can
// have a browser send.
func IsBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// presented is the token r carries, with the name given beside it: Authorization: Bearer,
// or the password of Authorization: Basic, which every client can send.
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
