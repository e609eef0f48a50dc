// Package model proves the protocol on paper: it explores every interleaving of a small
// world, in which senders, gateways, workers, an operator and the faults between them do
// all they can, and looks for one that breaks a promise.
//
// It is the specification of the protocol in the form of a program. It has no
// database and runs none of the code it speaks of; what holds the two together are the
// names of its steps, which are those of the failpoints in the code, and the table of
// an effect's states in the documentation of package ledger. Tests compare both.
//
// # What a world is
//
// A [State] is all that is true at one moment: the rows, the jobs, what each process
// has in its hands, what the receiver saw, and which faults may still happen. A
// [Step] leads from one to the next. What each actor does stands in a file of its own:
//
//	gateway.go      T1: verify, accept, answer
//	content.go      T1 where what repeats a body is a duplicate
//	deploy.go       processes with a newer configuration
//	dispatch.go     T2: plan, fence, effects, and those that begin with their first attempt
//	attempt.go      T3: claim, call, settle, and taking a claim back
//	ledger.go       what claim, settle and people's orders do to the row of an effect
//	order.go        effects that run one after another
//	statement.go    effects in the same Postgres
//	destination.go  pause, breaker, probe
//	operator.go     replay, retry, cancel, park, pause
//	upkeep.go       what needs nobody: time, River's rescue, reconciliation
//	crash.go        processes that die, jobs that are lost
//
// What no step bears the name of, and why, is in failpoints.go.
//
// [Explore] visits every state of every world in worlds.go, breadth first, so that the
// first violation it meets is one of the shortest. The invariants are in invariant.go;
// what an end is (I5) is in ending.go. Planted bugs, and what they break, are in bug.go.
//
// # What is left out, and why nothing is lost by it
//
// A transaction is one step. Each of ours takes the locks of the rows it decides about
// before it reads them, and keeps them until COMMIT: no other transaction sees anything
// between, so it may be thought to happen at its COMMIT. A process that dies between
// BEGIN and COMMIT leaves what it leaves when it dies before BEGIN, which is a step of
// its own. Where a planted bug takes a lock away, the read and the write are two steps.
//
// What only the process itself can see is no step of its own either: from the request's
// arrival at the receiver to the settlement nothing changes but what the worker knows,
// and a crash anywhere between leaves the same.
//
// A COMMIT without an answer did happen or did not; the one that hangs and happens
// later keeps its locks until then, so whoever would notice waits for it.
//
// Waiting is no step. A job that would be told to wait (the lease of another, a pause,
// its turn in an order) runs when there is something to do for it. So a path that does
// not end is one on which work is done for ever.
//
// Workers that are alike may exchange their names, as symmetry.go explains. States are
// kept whole, not as hashes of themselves: no two are ever taken for one.
package model
