// Package ledger records every effect and its attempts for applications, workers and the
// program: which attempt may start, what it sends, and its outcome.
//
// [Ledger.Claim] grants one attempt and [Ledger.Settle] records its outcome. [Ledger.RunTx] does
// both in one transaction, for effects in the same Postgres. The ledger represents an event only as
// the [Cause] of its effects. Each operator action is logged in the operator log, in the
// transaction that performs it.
//
// # States of an effect
//
// Each row is an effect's state, each column is what happens next, and each cell is the resulting
// state. A dash marks a combination that cannot happen.
//
//		from \ what      | claim   | done | refused   | not applied | maybe applied | key_ttl over | park   | cancel    | retry
//		pending          | started | -    | -         | -           | -             | -            | parked | cancelled | -
//		started          | started | done | failed  1 | pending   2 | in_doubt    3 | -            | parked | cancelled | -
//		in_doubt         | started | -    | -         | -           | -             | parked       | parked | cancelled | -
//		failed           | -       | -    | -         | -           | -             | -            | -      | cancelled | pending  4
//		parked           | -       | -    | -         | -           | -             | -            | -      | cancelled | pending  4
//		cancelled        | -       | -    | -         | -           | -             | -            | -      | -         | pending  4
//		done             | -       | -    | -         | -           | -             | -            | -      | -         | -
//
//	 1. parked if an earlier attempt may have been applied: that may be the reason for the
//	    refusal.
//	 2. in_doubt if an earlier attempt may have been applied. When the attempts are used
//	    up: parked, or failed if the effect was turned away and is not in doubt.
//	 3. parked when the attempts are used up, or under at_most_once. A lost attempt counts
//	    as maybe applied. The next claim after the end of its lease detects the loss. Under
//	    at_least_once that claim immediately starts the next attempt.
//	 4. in_doubt if an attempt may have been applied.
//
// A claim cancels an effect if a newer effect of the same object has superseded it.
//
// The process that dispatches an event may also execute an effect's first attempt. The effect is
// then created in the state started, as if it had been pending and claimed. This requires
// at_least_once, no order, and a rendered request. The effect's job waits until the lease ends, and
// the settlement decides what happens to the job.
//
// An effect whose request could not be rendered is created in the state parked. Only a replay of
// its event makes it pending. No effect leaves the state done.
//
// The database enforces the state machine (schema/migrations/0006): a trigger refuses every
// transition that is not in the table. The view effect_transitions lists each transition. For a
// settled attempt, the row in attempts supplies both start and end. Another trigger records every
// other transition, including each time an effect leaves the state started without a settlement.
//
// Turned away means that an operator may be able to change the receiver's response. The effect is
// therefore tried again like an effect that was not applied. The two differ when the attempts are
// used up. The receiver has responded to an effect that was turned away, so no operator has to
// investigate it, and no other effect waits behind it.
//
// Doubt persists: maybe_applied_since is the start of the first attempt that may have been applied,
// and no later failure clears or moves it. While a request is not rendered (Request.Late), its
// attempt has not called the receiver, so losing that attempt causes no doubt.
//
// # Keys
//
// Each (scope, key, generation) has one effect (I4). An event that yields a used key is linked to
// the existing effect as suppressed. The key on the wire is a hash of the three values. Every
// attempt sends the same key, and the receiver recognises it, with two exceptions:
//
//   - key_ttl: a receiver forgets keys. Once key_ttl has passed since the first doubt, the
//     claim parks the effect instead of starting an unprotected attempt. An operator may request
//     an attempt; key_ttl then starts anew.
//   - rotation: a receiver may store its error under a key and replay it forever. A settlement
//     with RotateKey gives the next attempt another key. Each attempt records its key. The
//     doubt about the old key stays.
//
// # Order
//
// Effects of one (scope, order key) run one after another, by accept_seq. An effect may start under
// three conditions. If a route created it, no event of its source with a smaller accept_seq waits
// for dispatch. No earlier effect of its order is unfinished; a parked effect counts as unfinished
// unless it has on_park skip. No effect of its order is being attempted. As an exception, a lost
// attempt continues even if new effects were inserted before its effect. Events accepted at the
// same time have no order between them.
//
// Only the first unfinished effect of an order has a job. The transaction that ends this effect's
// turn also inserts the job of the next effect. Each transaction that changes an order locks it (an
// advisory lock, after its row locks). Only then, in a new snapshot, does it look up the first
// effect. The last of several such transactions to commit therefore sees all changes, and no job is
// lost. The transactions of applications and handlers do not take that lock, and a dispatch may
// find the lock taken. In both cases a new effect gets its job immediately, and the claim finds out
// whether it is the effect's turn.
//
// The key of latest_by is also an order key. When an effect's turn arrives, it is cancelled if a
// newer effect (occurred_at, then accept_seq) of the same object was applied. The cancelled effect
// is linked to the newer effect. The table object_versions stores the newest applied version of
// each object.
package ledger
