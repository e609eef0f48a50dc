// Package commit runs transactions for gateway, worker and applications, alone or many in one,
// and retries them until their outcome is known. It knows neither events nor effects.
//
// # The door
//
// Every transaction of ours goes through a [DB] under a name: [DB.Do] runs one on its own, a
// [Group] lets many callers share one. [DB.Statement] is for reads, and for a single write
// whose loss with the server is harmless. Statements that join a caller's transaction are the
// caller's to commit; that transaction begins with [TransactionOptions]. If the server
// replicates synchronously, a pool must pass through [PreparePool] first.
//
// # Errors
//
// [ErrUnavailable] means that the database is unavailable or the outcome unknown, and that the
// same call may be repeated. [ErrBusy] means that nothing was tried, and [ErrClosed] that Stop
// was called. Any other error is a fault of the data, and the same on every retry.
//
// # Group commit
//
// Accepts, dispatches, claims and settlements each share transactions in a Group.
// While a commit is in flight the next batch collects: at most 64 members, 1,000 items,
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
//   - Values that Postgres would refuse are refused before batching. A batch that
//     still fails over its data is bisected, so that one bad event never fails its
//     neighbours.
//   - A batch that waits for another transaction's lock leaves its committer: a
//     bounded lane singles out the blocked members and commits the others.
//   - No COMMIT runs on a caller's context: cancelling it loses the outcome.
//   - A COMMIT without an answer has an unknown outcome. The same transaction is
//     tried again on a fresh connection until the members' time is over. That is
//     safe, because each finds its own rows: T1 by the acceptance id made before
//     the first try, T2 by the fence, a claim by its claim id, a settlement by
//     its recorded attempt. pgx's SafeToRetry is not used: since 5.9 it calls
//     a lost COMMIT answer safe to retry.
//   - With synchronous replication a visible row may not be on the standby yet,
//     so a T1 that only found duplicates writes a WAL message and waits too.
//   - The queue and the wait are bounded: [ErrBusy] before anything was tried.
//
// Rejected alternatives, and why:
//
//   - A timer that lets a batch fill. It adds its length to every lone member, and
//     under load the commit in flight is timer enough.
//   - A savepoint for each member, so that a bad one rolls back alone. It costs two
//     round trips for each good one; bisecting costs them only when one is bad.
//   - One statement for each member in a pipeline. The index and WAL work of single
//     rows is what group commit saves.
//   - Letting a batch wait for a lock it meets. Its committer would stop, and everything
//     behind it: one row that an application keeps locked would stop the gateway.
//   - Giving up at a COMMIT without an answer and reporting an error. The sender
//     would deliver again what is stored; here the next try finds the outcome.
//   - Committing on the caller's context. A caller that hangs up would make the
//     outcome of its neighbours unknown.
package commit
