// Package outbox accepts events once and dispatches them once: it is what an application
// calls.
//
// # What to call
//
// One [Outbox] on a migrated database does it all. [Outbox.Accept] commits a
// delivery of a provider together with the job that will process its events;
// [Outbox.EnqueueTx] commits an effect of your own, such as a call or an e-mail,
// together with your writes:
//
//	config, err := pgxpool.ParseConfig(databaseURL)
//	commit.PreparePool(config) // hears whether a COMMIT reached the standby
//	pool, err := pgxpool.NewWithConfig(ctx, config)
//	box, err := outbox.New(outbox.Options{Pool: pool})
//	defer box.Stop(ctx)
//
//	acceptance, err := box.Accept(ctx, outbox.Delivery{
//		Source: "stripe", Provider: "stripe", Body: body,
//		Events: []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
//	}) // without an error all of it is committed: answer 200
//
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		// ... your own writes with tx ...
//		isNew, err := box.EnqueueTx(ctx, tx, outbox.Enqueue{Destination: "crm", Key: "order-1001", Request: request})
//		return err
//	})
//
// [Outbox.AcceptTx] accepts inside a transaction of yours. What was accepted is read,
// and replayed, by [Outbox.Inbox], and found by [Outbox.Browser]. Workers call
// [Outbox.Dispatch], and the effects and destinations behind [Outbox.Ledger] and
// [Outbox.Fleet]; package worker does that for you.
//
// The protocol stands beside the code that keeps it: what a COMMIT means in package
// commit, the states of an effect, keys and orders in package ledger, pauses and
// rates in package fleet. docs/protocol.md has all of it on one page.
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
//	I1  Every delivery answered 2xx has all its events stored, byte for byte, except
//	    those whose keys a person imported.
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
//	  INSERT effects ... ON CONFLICT DO NOTHING RETURNING; INSERT links
//	         those that this process attempts at once as 'started', attempt 1, with its claim and lease
//	  INSERT river_job                                               one effect job for each new effect;
//	                                                                 in reserve until the lease of those ends
//	COMMIT
//
// T3, effect:
//
//	claim:  UPDATE effects SET state = 'started', attempt = attempt + 1, claim_id, lease_until ...  COMMIT
//	        call the receiver
//	settle: UPDATE effects SET state ... WHERE attempt = mine AND claim_id = mine                   COMMIT
//	        the job in reserve: DELETE when done, else UPDATE to when and how it goes on
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
//   - It dies between claim and settle, or between the COMMIT of T2 and the
//     settlement of an effect it claimed there: the effect is in doubt when its
//     lease ends, and goes on as its policy says.
//   - The answer to a T2 that claimed is lost: the next try finds the event
//     dispatched, and the process asks for the claim under the same id. It has
//     called nobody yet.
//   - An attempt that stalled past its lease wakes up: its settlement matches no
//     row, it changes nothing.
//   - The worker of an effect in the same Postgres ([Outbox.RunTx]) dies or loses
//     the answer to its COMMIT: claim, statement and settlement are one
//     transaction, which happened or did not.
//   - The job of an event or an effect disappears: Reconcile inserts another.
//   - The database is away: [ErrUnavailable], and the caller's queue waits.
package outbox
