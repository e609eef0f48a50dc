package signin

import "context"

// Person is the authenticated caller.
type Person struct {
	Name string
	Role Role
	// Way is how the person was authenticated.
	Way Way
	// Cookie is true for a person who signed in, and can sign out.
	Cookie bool
}

// Way is a way of authentication.
type Way string

// All ways.
const (
	WayLoopback Way = "loopback" // no authentication is required on this machine
	WayToken    Way = "token"
	WayOIDC     Way = "oidc"
	WayProxy    Way = "proxy"
)

// Nameless is the name in the operator log for a person without a name.
const Nameless = "operator"

type personKey struct{}

// WithPerson returns a context that carries a person.
func WithPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// PersonOf returns the person in a context, or the zero Person, who may do nothing.
func PersonOf(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}
