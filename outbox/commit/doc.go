// Package commit runs transactions for gateway, worker and applications, alone or in groups, and
// retries them until their outcome is known. It does not depend on events or effects.
//
// # One entry point
//
// Every Hooklatch transaction passes through a [DB] under a name. [DB.Do] runs one transaction
// alone, and a [Group] lets many callers share a transaction. [DB.Statement] is for reads, and for
// a single write whose loss in a server failure is harmless. Statements that join a caller's
// transaction are committed by the caller. [TransactionOptions] gives such a transaction the
// settings that the guarantees rely on. If the server replicates synchronously, [PreparePool] must
// prepare each pool.
//
// # Errors
//
// [ErrUnavailable] means that the database is unavailable or the outcome unknown, and that the same
// call may be repeated. [ErrBusy] means that nothing was stored, because too many members wait or
// are blocked. [ErrClosed] means that Stop was called. Any other error of a [Group] is a fault in
// the data, and the same on every retry. [DB.Do] also returns [ErrPoolNotPrepared] and errors from
// its function.
//
// # Group commit
//
// Accepts, dispatches, claims and settlements each share transactions in a Group. While a commit is
// in flight, the next batch fills: at most 64 members, 1,000 items, 4 MiB; a larger member is
// committed alone. A lone member waits for no timer. By default, two batches may be in flight, and
// GroupOptions.Patience may delay the second one. The rules and their reasons:
//
//   - READ COMMITTED, synchronous_commit = on, a lock_timeout of 250 ms (less
//     than deadlock_timeout), statement and idle timeouts of 5 s, all set in
//     the transaction: the guarantees must not depend on a server's defaults.
//   - Rows are written and locked in the order of their keys. Two batches with
//     the same keys in different orders could deadlock.
//   - Equal keys in a batch collapse onto the first member. The others are
//     duplicates only if the first commits. Every isolated retry collapses them again,
//     because the first may be bad while the second is good.
//   - Values that Postgres would refuse are refused before batching. A batch that
//     still fails because of its data is bisected, so that one bad event never
//     fails its neighbours.
//   - A batch that waits for another transaction's lock leaves its committer: one
//     of four lanes singles out the blocked members and commits the others.
//   - No COMMIT runs on a caller's context: a cancelled COMMIT loses its outcome.
//   - A COMMIT without a response has an unknown outcome. The same transaction is
//     tried again on a fresh connection until the members' time is over. That is
//     safe, because each try finds the rows of an earlier try: T1 by the acceptance
//     id generated before the first try, T2 by the fence, a claim by its claim id, a
//     settlement by its recorded attempt. pgx's SafeToRetry is not used: since 5.9 it
//     calls a lost COMMIT response safe to retry.
//   - With synchronous replication a visible row might not be on the standby yet,
//     so a T1 that only found duplicates writes a WAL message and waits too.
//   - The queue, the wait in it and the number of lanes are bounded. A member
//     beyond these bounds gets [ErrBusy].
//
// Rejected alternatives and their reasons:
//
//   - A timer that lets a batch fill. It delays every lone member, and under load the
//     commit in flight already delays the next batch.
//   - A savepoint for each member, so that a bad member rolls back alone. It costs two
//     round trips for each good member. Bisecting costs round trips only for a bad member.
//   - One statement for each member in a pipeline. It would not save the index and WAL
//     work of single rows, which group commit saves.
//   - Letting a batch wait for a lock. Its committer and all members behind it would stop:
//     one row that an application keeps locked would stop the gateway.
//   - Giving up at a COMMIT without a response and reporting an error. The sender
//     would repeat a stored delivery. With a retry, the next try finds the outcome.
//   - Committing on the caller's context. If a caller hung up, the outcome of
//     its neighbours would be unknown.
package commit
