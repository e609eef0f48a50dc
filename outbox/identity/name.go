package identity

// Source is the name of a source in the configuration.
type Source string

// EventID identifies an event within its source. It is the provider's id, or an id that the gateway
// derived.
type EventID string

// Scope separates the keys of effects. A scope belongs to one route and source, to one destination
// for which an application enqueues, or to one effect that is resent.
type Scope string

// Key identifies an effect within its scope.
type Key string
