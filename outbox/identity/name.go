package identity

// Source is the name of a source in the configuration.
type Source string

// EventID names an event within its source: the provider's id, or one that the gateway derived.
type EventID string

// Scope separates the keys of effects: those of a route and a source, or those that an
// application enqueues for a destination.
type Scope string

// Key names an effect within its scope.
type Key string
