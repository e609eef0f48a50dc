// Package ledger keeps, for applications, workers and the program, the account of every
// effect and of the attempts at it: which attempt may start, what it sends, and its
// outcome.
//
// [Ledger.Claim] gives the right to one attempt, [Ledger.Settle] records its outcome;
// [Ledger.RunTx] does both in one transaction for effects in the same Postgres. The
// ledger knows an event only as the [Cause] of its effects. What people order is in
// the operator log, in the transaction that does it.
//
// # States of an effect
//
// What happens to an effect moves it from one state to another; a dash means that it
// cannot happen.
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
//	 1. parked when an earlier attempt may have been applied: the refusal may be
//	    because it was.
//	 2. in_doubt when an earlier attempt may have been applied. When the attempts are
//	    used up: parked, or failed when it was turned away and is in no doubt.
//	 3. parked when the attempts are used up, or the policy is at_most_once. A lost
//	    attempt is the same, found by the next claim once its lease has ended: under
//	    at_least_once that claim starts the next attempt at once.
//	 4. in_doubt when an attempt may have been applied.
//
// A claim cancels an effect that a newer one of its object supersedes.
//
// An effect whose first attempt is made by the process that dispatches its event is
// created started, as if it had been pending and claimed: only at_least_once, in no
// order, with its request rendered. Its job waits until the lease ends, and the
// settlement of the attempt says what becomes of it.
//
// An effect whose request could not be rendered is created parked, and becomes
// pending by a replay of its event only. Nothing leaves done.
//
// The database keeps the machine (schema/migrations/0006): a trigger refuses what
// is not in the table, whoever asks. The view effect_transitions has each
// transition: of an attempt that is settled the row in attempts tells both, how it
// began and how it ended; another trigger records every other, and each attempt
// that leaves started without a settlement.
//
// Turned away is what a person may change at the receiver, and is tried again
// like what was not applied. It differs at the end: it was an answer, so nobody
// has to look for one, and nothing waits behind it.
//
// Doubt is sticky: maybe_applied_since is the start of the first attempt that
// may have been applied and is never cleared or moved by a later failure. An
// attempt whose request was still to be fixed (Request.Late) has called nobody:
// losing it is no doubt.
//
// # Keys
//
// (scope, key, generation) has one effect (I4). An event that meets a key that
// was used is linked to that effect as suppressed. The key on the wire is a hash
// of the three, the same at every attempt. Two exceptions:
//
//   - key_ttl: a receiver forgets keys. So long after the first doubt the claim
//     parks the effect instead of starting an attempt that nothing protects. A
//     person may order one; the time counts anew from then.
//   - rotation: a receiver may store its error under a key and replay it for
//     ever. A settlement with RotateKey gives the next attempt another key. Each
//     attempt records which it carried; the doubt about the old one stays.
//
// # Order
//
// Effects of one (scope, order key) run one after another, by accept_seq. An
// effect may start when no event of its source with a smaller accept_seq waits
// for its dispatch, no effect before it in its order is unfinished (a parked one
// counts unless it has on_park skip), and none of its order is at work. Only an
// attempt that was lost goes on whatever came before it meanwhile. Events
// accepted at the same time have no order between them.
//
// Only the first unfinished effect of an order has a job; whoever takes away what
// stood before it inserts the job of the next in the same transaction. Each
// transaction that changes an order locks it (an advisory lock, after its row
// locks) and looks only then, in a new snapshot, which effect is the first now.
// So of several that commit in any order the last sees all, and a job is never
// lost. Where waiting for that lock would hurt, in the transaction of an
// application or of a handler, and in a dispatch that finds the order locked, the
// new effect gets its job at once; the claim finds that it is not its turn.
//
// latest_by is an order of its own. When its turn comes, an effect of an object
// of which a newer one (occurred_at, then accept_seq) was applied is cancelled
// and linked to that one; object_versions remembers the newest.
package ledger
