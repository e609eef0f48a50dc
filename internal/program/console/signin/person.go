package signin

import "context"

// Person is whoever asks.
type Person struct {
	Name string
	Role Role
	// Way is how the listener knows.
	Way Way
	// Cookie is true for whoever signed in, and can sign out.
	Cookie bool
}

// Way is how somebody is known.
type Way string

// The ways.
const (
	WayLoopback Way = "loopback" // nothing is asked for on this machine
	WayToken    Way = "token"
	WayOIDC     Way = "oidc"
	WayProxy    Way = "proxy"
)

// Nameless is what whoever gives no name is called in records.
const Nameless = "operator"

type personKey struct{}

// WithPerson is a context of what a person asked for.
func WithPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// PersonOf is who asked. Nobody, who may nothing, where that was not found out.
func PersonOf(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}
