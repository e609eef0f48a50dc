// Package route plans which effects an event has: it compiles routes, evaluates their
// expressions for one event, and renders the requests of its effects.
//
// A plan does no I/O and depends on nothing but the event and the routes, so
// that a program can ask what a route would do without running a worker:
//
//	Compile   finds every fault of every route before any event comes
//	Plan      one NewEffect for each route that wants the event, rendered
//	Render    the request of an effect whose route reads the current state of an
//	          object first, when the effect starts; the only I/O there is
//
// Events are written by others, and routes run expressions over them. Every
// evaluation is bounded: in steps (costLimit), in the work its functions do
// (maxWork, charged before a call is made), in time (evalTimeout) and in what it
// may render (maxRendered). An event that exceeds one of them, or does not fit its
// route, has that one effect parked with the reason. Only when time runs out is
// nothing decided: that is the machine's doing, and the event is planned again.
package route
