package identity

// Source is the name of a source of the configuration.
type Source string

// EventID names an event within its source: the provider's id, or what the
// gateway derived.
type EventID string

// Scope keeps the keys of effects apart: those of a route and a source, or those
// an application enqueues for a destination.
type Scope string

// Key names an effect within its scope.
type Key string
