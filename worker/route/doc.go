// Package route plans which effects an event has: it compiles routes, evaluates
// their expressions for one event, and renders the requests of its effects.
//
// A plan does no I/O and depends on nothing but the event and the routes, so
// that a program can ask it what a route would do without running a worker. The
// one exception is a route that reads the current state of an object: Render
// does that later, when the effect starts.
package route
