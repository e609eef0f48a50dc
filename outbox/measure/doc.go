// Package measure counts, for gateway, worker and the program, what happens, and reads
// how much is waiting, since when, and what is usual: for the metrics of all processes,
// for `hooklatch status`, for the console and for alerts.
//
// Counts are of each minute and hour, by source and destination, of all processes
// together. Processes count in memory and add their counts to the database every ten
// seconds, outside of all other transactions. The counts show rates to operators: a
// process that is killed takes up to ten seconds of them with it, and so does a response
// of the database that is lost. Facts are in the ledger.
//
// A Snapshot says how much is waiting. One process at a time, the Collector that has a
// lease in the database, reads it for the metrics and exports it while the lease lasts.
// The others export none of it, so that a sum over all processes is right and nothing is
// stale. The cost is bounded however much waits: effects and undispatched events are
// counted up to Most of each, or MostAwaited, what is set aside up to MostAside, and a
// Collector rests twenty times as long as it read.
//
// Answers are the latest responses of one destination, from a bounded number of rows.
//
// Words that people argue about are defined here, and nowhere else:
//
//   - A first attempt is attempt 1 of an effect, or the first run of a Go handler for an
//     event. It is counted for the destination, and for the source of the event.
//   - It failed when it ended in any way but done or superseded. An open breaker, a pause
//     and a wait for a rate are no attempt.
//   - A duplicate is an event that came again. The rate of duplicates is their share of
//     all that came: duplicates / (accepted + duplicates).
//   - The usual value is the median of the same hour of the last seven days.
package measure
