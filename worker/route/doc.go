// Package route plans the effects of an event: it compiles routes, evaluates their expressions for
// one event, and renders the requests of its effects.
//
// A plan does no I/O and depends only on the event and the routes. A program can therefore find out
// what a route would do without running a worker:
//
//	Compile   finds every fault of every route before any event arrives
//	Plan      returns one NewEffect for each route that matches the event, rendered
//	Render    renders, when its effect starts, the request of a route that reads the
//	          current state of an object first; it does the only I/O
//
// Senders write the events, and routes run expressions over them. Every evaluation is bounded: in
// steps (costLimit), in the work of its functions (maxWork, charged before a call is made), in time
// (evalTimeout) and in the size of its result (maxRendered). If an event exceeds a bound, or does
// not fit its route, that one effect is parked with the reason. A timeout decides nothing: its
// cause is the machine, so the event is planned again.
package route
