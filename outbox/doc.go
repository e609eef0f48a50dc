// Package outbox accepts events once and dispatches them once. Applications call it directly.
//
// # Entry points
//
// An application needs one [Outbox], on a migrated database. [Outbox.Accept] commits a provider's
// delivery together with the jobs that will dispatch its events. [Outbox.EnqueueTx] commits an
// effect of your own, such as a call or an email, together with your writes:
//
//	config, err := pgxpool.ParseConfig(databaseURL)
//	commit.PreparePool(config) // detects a COMMIT that did not reach the standby
//	pool, err := pgxpool.NewWithConfig(ctx, config)
//	box, err := outbox.New(outbox.Options{Pool: pool})
//	defer box.Stop(ctx)
//
//	acceptance, err := box.Accept(ctx, outbox.Delivery{
//		Source: "stripe", Provider: "stripe", Body: body,
//		Events: []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
//	}) // if err is nil, everything is committed: answer 200
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		// ... your own writes with tx ...
//		isNew, err := box.EnqueueTx(ctx, tx, outbox.Enqueue{Destination: "crm", Key: "order-1001", Request: request})
//		return err
//	})
//
// [Outbox.AcceptTx] accepts inside your own transaction. [Outbox.Inbox] reads and replays accepted
// events, and [Outbox.Finder] searches them. Workers call [Outbox.Dispatch], and handle effects and
// destinations through [Outbox.Ledger] and [Outbox.Fleet]; package worker does that for you.
//
// The protocol is documented in the packages that implement it. Package commit describes the
// meaning of a COMMIT. Package ledger describes the states, keys and orders of effects. Package
// fleet describes pauses and rates. docs/protocol.md describes the whole protocol on one page.
//
// # Authority
//
// Hooklatch's tables are authoritative; river_job is not. River prunes its rows, completes them up
// to 250 ms late and without checking which attempt ran, and discards stuck jobs of kinds it does
// not know. The state of an event or an effect is decided under a lock on its row, and nowhere
// else. These are the authorities:
//
//   - processed_events: whether an event was accepted (its primary key), and
//     whether it was dispatched (outcome and generation, the fence).
//   - deliveries: the exact bytes.
//   - effects: whether an effect was done, who may attempt it now (claim_id,
//     lease_until, attempt) and what it sends.
//   - destinations: whether attempts may start (operator_paused, breaker_state).
//     River's queues follow this table.
//   - operator_log: operator actions. One transaction performs the action and
//     inserts the row, so a retry after a lost COMMIT response finds the row
//     and does not repeat the action.
//   - the database clock: received_at, leases and due times. No statement uses the
//     caller's clock: callers pass durations.
//
// [Outbox.Reconcile] repairs river_job from the tables.
//
// # Invariants
//
// Code and tests cite the invariants by number.
//
//	I1  Every delivery answered 2xx has all its events stored, byte for byte, until
//	    retention, redaction or erasure, except those whose keys an operator imported.
//	I2  One processed_events row per (source, event_id), whatever the concurrency.
//	I3  Content is stored as an event only if it was validly signed, or fetched from the
//	    provider's API with the credential of the source. An imported key has no content.
//	I4  An event is dispatched once per generation; (scope, key, generation) has
//	    at most one effect row.
//	I5  After faults heal, every event is dispatched or held by a replay guard, and every
//	    effect reaches a terminal or parked state.
//	I6  An effect recorded done was confirmed by the receiver.
//	I7  All attempts of one effect carry the same key and the same body, unless a
//	    policy rotates the key, which is recorded.
//	I8  An at_most_once effect is never started again unless every earlier
//	    attempt was definitely not applied, or an operator requests it.
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
//	  INSERT deliveries                                              if they contain at least one new event
//	  SELECT the existing rows                                       only when a key is a duplicate
//	  INSERT river_job                                               one dispatch for each new event
//	COMMIT                                                           then the caller answers
//
// T2, dispatch:
//
//	BEGIN
//	  UPDATE processed_events SET outcome ... WHERE outcome = 'received' AND generation = mine   the fence
//	  [handlers, in this transaction]
//	  INSERT effects ... ON CONFLICT DO NOTHING RETURNING; INSERT links
//	         effects that this process attempts immediately as 'started', attempt 1, with its claim and lease
//	  INSERT river_job                                               one effect job for each new effect;
//	                                                                 a fallback until the lease of a 'started' effect ends
//	COMMIT
//
// T3, effect:
//
//	claim:  UPDATE effects SET state = 'started', attempt = attempt + 1, claim_id, lease_until ...  COMMIT
//	        call the receiver
//	settle: UPDATE effects SET state ... WHERE attempt = mine AND claim_id = mine                   COMMIT
//	        the fallback job: DELETE when done, otherwise UPDATE with its next time and state
//
// # Failure handling
//
//   - The process dies before the COMMIT of T1: nothing is stored, the provider
//     got no response and delivers again.
//   - The process dies after the COMMIT and before the response: the next delivery
//     is a duplicate.
//   - The process dies in T2: the transaction stores nothing; River rescues the job.
//   - A dispatch stalls until River has rescued its job, and then continues: the fence
//     returns no row, and the dispatch writes nothing.
//   - The process dies between claim and settle, or between the COMMIT of T2 and the
//     settlement of an effect it claimed there: the effect is in doubt when its
//     lease ends, and continues as its policy says.
//   - The response to the COMMIT of a T2 with claims is lost: the next try finds the
//     event dispatched, and the process requests the claims under the same ids. It has
//     not called any receiver yet.
//   - An attempt stalls past its lease, and then continues: its settlement matches no
//     row and changes nothing.
//   - The worker of an effect in the same Postgres ([ledger.Ledger.RunTx]) dies or
//     loses the response to its COMMIT: claim, statement and settlement are one
//     transaction, which either committed or did not.
//   - The job of an event or an effect disappears: Reconcile inserts another.
//   - The database is unavailable: callers get [ErrUnavailable], and may repeat the call.
package outbox
