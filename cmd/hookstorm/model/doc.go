// Package model checks the protocol without running it. It explores every interleaving of
// senders, gateways, workers, an operator and faults in a small world, and looks for one that
// breaks a promise.
//
// The model is the specification of the protocol in the form of a program. It has no database and
// runs none of the code that it describes. Two things tie it to the code. Its steps have the names
// of the code's failpoints. Its transitions are those in the table of effect states, which is in
// the documentation of package ledger. Tests compare both.
//
// # Worlds and states
//
// A [State] describes one moment completely: the rows, the jobs, the state of each process, the
// receiver's calls, and the faults that may still happen. A [Step] leads from one state to the
// next. The steps are in separate files:
//
//	gateway.go      T1: verify, accept, respond
//	content.go      T1 if a repeated body is a duplicate
//	deploy.go       processes with a newer configuration
//	dispatch.go     T2: plan, fence, effects, and effects that begin with their first attempt
//	attempt.go      T3: claim, call, settle, and withdrawing a claim
//	ledger.go       changes of an effect's row by claim, settle and operator actions
//	order.go        effects that run one after another
//	statement.go    effects in the same Postgres
//	destination.go  pause, breaker, probe
//	operator.go     replay, retry, cancel, park, pause
//	upkeep.go       everything automatic: time, River's rescue, reconciliation
//	crash.go        processes that die, jobs that are lost
//
// failpoints.go lists the failpoints without a step, with the reasons.
//
// [Explore] visits every state of every world in worlds.go, breadth first. The first
// violation that it finds is therefore one of the shortest. The invariants are in
// invariant.go, the definition of an end (I5) is in ending.go. Planted bugs and the promises
// that they break are in bug.go.
//
// # Omissions, and why they are safe
//
// A transaction is one step. Each transaction of the code locks the rows it decides about
// before it reads them, and keeps the locks until COMMIT. No other transaction sees an
// intermediate state, so the transaction takes effect at its COMMIT. A process that dies
// between BEGIN and COMMIT leaves the same state as one that dies before BEGIN, which is a
// separate step. If a planted bug removes a lock, the read and the write are two steps.
//
// Changes that only the process itself can see are not steps either. Between the arrival of
// the request at the receiver and the settlement, only the worker's knowledge changes. A
// crash anywhere between has the same result.
//
// A COMMIT without a response took effect or did not. A COMMIT that hangs and takes effect later
// keeps its locks until then, so every transaction that could notice waits for it.
//
// Waiting is not a step. A job that would have to wait (for another's lease, a pause, or its
// turn in an order) runs only when it can do something. An endless path is therefore one on
// which work is done forever.
//
// Identical workers may exchange their names, as symmetry.go explains. States are stored whole, not
// as hashes, so two different states are never taken for the same state.
package model
