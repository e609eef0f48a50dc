// Package outbox is the inbox and the outbox on Postgres, and the ledger of
// both: it accepts events once, dispatches them once, and keeps account of
// every effect.
//
// # Overview
//
// A provider delivers a webhook at least once. The gateway proves who sent it
// and calls [Outbox.Accept]; when that returns, the event is committed together
// with the River job that will process it, and the provider may be answered.
// The worker plans what the event leads to and calls [Outbox.Dispatch], and for
// each effect [Outbox.Claim], then the receiver, then [Outbox.Settle].
// Applications join with transactions of their own through [Outbox.AcceptTx],
// [Outbox.DispatchTx] and [Outbox.EnqueueTx].
//
// # Authority
//
// Our tables are authoritative; river_job is not. River prunes its rows,
// completes them up to 250 ms late and without asking which attempt ran, and
// discards stuck jobs of kinds it does not know. What a table says about an
// event or an effect is decided by a row lock on that row, and only there:
//
//   - processed_events: whether an event was accepted (its primary key), and
//     whether it was dispatched (outcome and generation, the fence).
//   - deliveries: the exact bytes.
//   - effects: whether an effect was done, who may attempt it now (claim_id,
//     lease_until, attempt) and what it sends.
//   - the database clock: received_at, leases and due times. No SQL takes a time
//     of the caller, only lengths of time.
//
// [Outbox.Reconcile] repairs river_job from the tables.
//
// # Invariants
//
// Code and tests cite them by number.
//
//	I1  Every delivery answered 2xx has all its events stored, byte for byte.
//	I2  One processed_events row per (source, event_id), whatever the concurrency.
//	I3  Nothing is stored as an event that was not validly signed.
//	I4  An event is dispatched once per generation; (scope, key, generation) has
//	    at most one effect row.
//	I5  After faults heal, every event is dispatched and every effect reaches a
//	    terminal or parked state.
//	I6  An effect recorded done was confirmed by the receiver.
//	I7  All attempts of one effect carry the same key and the same body.
//	I8  An at_most_once effect is never started again unless every earlier
//	    attempt was definitely not applied, or a person orders it.
//	I9  No effect runs for an event that is not committed.
//	I10 Handler writes in Postgres are applied once per event.
//	I11 Replay is explicit, recorded, and linked to what it replays.
//	I12 No secret appears in logs, traces, metrics, errors, tables or pages.
//
// # Three transactions
//
// T1, accept:
//
//	BEGIN
//	  INSERT processed_events ... ON CONFLICT DO NOTHING RETURNING   rows back = first time
//	  INSERT deliveries                                              of those that brought something new
//	  SELECT the rows that stand                                     only when a key was known
//	  INSERT river_job                                               one dispatch for each new event
//	COMMIT                                                           then the caller answers
//
// T2, dispatch:
//
//	BEGIN
//	  UPDATE processed_events SET outcome ... WHERE outcome = 'received' AND generation = mine   the fence
//	  [handlers, with this transaction]
//	  INSERT effects ... ON CONFLICT DO NOTHING RETURNING; INSERT effect_events
//	  INSERT river_job                                               one effect job for each new effect
//	COMMIT
//
// T3, effect:
//
//	claim:  UPDATE effects SET state = 'started', attempt = attempt + 1, claim_id, lease_until ...  COMMIT
//	        call the receiver
//	settle: UPDATE effects SET state ... WHERE attempt = mine AND claim_id = mine                   COMMIT
//
// # Group commit
//
// T1, T2, claim and settle share one mechanism (group_commit.go). While a
// commit is in flight the next batch collects: at most 64 members, 1,000 items,
// 4 MiB; one larger member goes alone. There is no timer. Two batches may be in
// flight. The rules, and why:
//
//   - READ COMMITTED, synchronous_commit = on, lock_timeout 250 ms below
//     deadlock_timeout, statement and idle time-outs 5 s, set in the
//     transaction: the guarantees must not depend on a server's defaults.
//   - Rows are written and locked in the order of their keys. Two batches with
//     the same keys in other order would deadlock.
//   - Equal keys of a batch collapse onto the first; the others are duplicates
//     only if it commits. Every isolated retry collapses anew, because the first
//     may turn out bad while the second is good.
//   - What Postgres would refuse is refused before it is batched. A batch that
//     fails over its data all the same is bisected, so that one bad event never
//     fails its neighbours.
//   - A batch that waits for somebody's lock leaves its committer: a bounded
//     lane singles out the blocked members and commits the others.
//   - No COMMIT runs on a caller's context: cancelling it loses the outcome.
//   - A COMMIT without an answer has an unknown outcome. The same transaction is
//     tried again on a fresh connection until the members' time is over. That is
//     safe, because each finds its own rows: T1 by the acceptance id made before
//     the first try, T2 by the fence, a claim by its claim id, a settlement by
//     its recorded attempt. pgx's SafeToRetry is never asked: since 5.9 it calls
//     a lost COMMIT answer safe to retry.
//   - With synchronous replication a visible row may not be on the standby yet,
//     so a T1 that only found duplicates writes a WAL message and waits too.
//   - The queue and the wait are bounded: [ErrBusy] before anything was tried.
//
// # States of an effect
//
//	             claim                   settle: done
//	  pending ───────────▶ started ─────────────────────▶ done
//	     ▲                 ▲  │ │ │
//	     │ not applied     │  │ │ └── refused ──────────▶ failed   (no earlier doubt)
//	     └─────────────────┼──┘ │
//	                       │    ├── refused, in doubt ──▶ parked
//	             claim     │    ├── attempts used up ───▶ parked
//	  in_doubt ────────────┘    ├── maybe applied, at_most_once ─▶ parked
//	     ▲                      │
//	     └── maybe applied, or ─┘
//	         not applied after a doubt
//
//	A lease that ended unsettled: the next claim finds the attempt lost. Under
//	at_least_once it starts another attempt and the doubt is recorded; under
//	at_most_once it parks the effect.
//	A person may cancel any effect that is not done, and reopen one that is
//	failed, parked or cancelled: it becomes pending, or in_doubt.
//
// Doubt is sticky: maybe_applied_since is the start of the first attempt that
// may have been applied and is never cleared by a later failure.
//
// # Failure handling
//
//   - The process dies before the COMMIT of T1: nothing is stored, the provider
//     was not answered and delivers again.
//   - It dies after the COMMIT and before the answer: the next delivery is a
//     duplicate.
//   - It dies in T2: nothing of the transaction is stored; River rescues the job.
//   - A dispatch that stalled past its rescue wakes up: the fence returns no row,
//     it writes nothing.
//   - It dies between claim and settle: the effect is in doubt when its lease
//     ends, and goes on as its policy says.
//   - An attempt that stalled past its lease wakes up: its settlement matches no
//     row, it changes nothing.
//   - The job of an event or an effect disappears: Reconcile inserts another.
//   - The database is away: [ErrUnavailable], and the caller's queue waits.
package outbox
