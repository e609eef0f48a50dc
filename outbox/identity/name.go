package identity

// Source is the name of a source in the configuration.
type Source string

// EventID identifies an event within its source. It is the provider's id, or an id that the gateway
// derived.
type EventID string

// Scope separates the keys of effects: the keys of a route and a source, or the keys that an
// application enqueues for a destination.
type Scope string

// Key identifies an effect within its scope.
type Key string
