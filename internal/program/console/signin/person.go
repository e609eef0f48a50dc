package signin

import "context"

// Person is the authenticated caller.
type Person struct {
	Name string
	Role Role
	// Way is the way in which the caller was authenticated.
	Way Way
	// Cookie is true if the caller signed in, and can sign out.
	Cookie bool
}

// Way is a way of authentication.
type Way string

// Ways of authentication.
const (
	WayLoopback Way = "loopback" // on this machine, no authentication is required
	WayToken    Way = "token"
	WayOIDC     Way = "oidc"
	WayProxy    Way = "proxy"
)

// Nameless is the name in the operator log for a caller without a name.
const Nameless = "operator"

type personKey struct{}

// WithPerson returns a context that carries p.
func WithPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// PersonOf returns the Person in a context, or the zero Person, which has no permissions.
func PersonOf(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}
