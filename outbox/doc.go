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
//   - destinations: whether attempts may start (operator_paused, breaker_state).
//     River's queues are made to agree with it.
//   - operator_log: what people ordered. Its row and the action are one
//     transaction, so that a try after a lost COMMIT answer knows by it that the
//     action was done.
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
//	I7  All attempts of one effect carry the same key and the same body, unless a
//	    policy rotates the key, which is recorded.
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
//	  created                claim                 settle: done
//	───────────▶ pending ───────────▶ started ──────────────────▶ done
//	               ▲                   ▲  │ ▲
//	               │    not applied    │  │ │ claim, after its lease ended:
//	               ├───────────────────┼──┤ └─ the next attempt (at_least_once)
//	               │                   │  │
//	               │             claim │  ├── refused, or turned away to the last attempt ─▶ failed  (no earlier doubt)
//	               │                   │  │
//	               │        in_doubt ──┘  ├── refused, in doubt ──▶ parked
//	               │           ▲          ├── attempts used up ───▶ parked
//	               │           │          ├── maybe applied, or lost, at_most_once ─▶ parked
//	               │           └──────────┤
//	               │     maybe applied, or│
//	               │     not applied after│
//	               │     a doubt          └── superseded by a newer one ─▶ cancelled
//	               │
//	               └── retry ── failed, parked, cancelled        (in_doubt when there is a doubt)
//
//	pending, in_doubt ── key_ttl over ──▶ parked       (in_doubt only)
//	pending, in_doubt, started ── park ──▶ parked
//	any but done ── cancel ──▶ cancelled
//
// An effect whose request could not be rendered is created parked, and becomes
// pending by a replay of its event only. Nothing leaves done.
//
// The database keeps the machine (schema/migrations/0006): a trigger refuses what
// is not drawn here, whoever asks, another one records each transition in
// effect_transitions and each attempt that leaves started in effect_attempts.
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
//
// # Pauses, breakers and rates
//
//	closed ── Trip ──▶ open ── BeginProbe, when its time has come ──▶ half_open
//	  ▲                 ▲                                             │ │
//	  │                 └───────────── ProbeFailed ───────────────────┘ │
//	  └───────────────────────────── CloseBreaker ──────────────────────┘
//
// A destination is paused while operator_paused is set or its breaker is not
// closed. That is applied to its River queue in the transaction that changes it,
// under the row lock of the destination, so neither undoes the other; SyncPauses
// repairs what River forgot. Claims refuse a paused destination too, which covers
// jobs that were fetched before and queues that several destinations share. A
// probe passes the breaker, never an operator.
//
// Rates are kept by the database for all processes together ([Outbox.TakeTokens]).
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
//   - The worker of an effect in the same Postgres ([Outbox.RunTx]) dies or loses
//     the answer to its COMMIT: claim, statement and settlement are one
//     transaction, which happened or did not.
//   - The job of an event or an effect disappears: Reconcile inserts another.
//   - The database is away: [ErrUnavailable], and the caller's queue waits.
package outbox
