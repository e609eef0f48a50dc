// Package measure counts events and attempts for gateway, worker and the program. It also reads the
// amount and age of waiting work, and the usual values. The metrics of all processes, `hooklatch
// status`, the console and alerts use this package.
//
// Counts are kept for each minute and hour, by source, destination and route, over all processes. A
// process counts in memory and adds its counts to the database every ten seconds, outside all other
// transactions. Counts show rates to operators. If a process is killed or a response of the
// database is lost, the counts of up to ten seconds are lost. The exact facts are in the ledger.
//
// A Snapshot describes the waiting work. Only one process at a time reads it for the metrics: the
// process whose Collector holds a lease in the database. This process exports the snapshot while
// the lease lasts. Other processes do not export it, so that a sum over all processes is right and
// no value is stale. The cost is bounded for any amount of waiting work. Unfinished effects and
// undispatched events are each counted up to the limit Most, or up to MostAwaited if an operator
// waits for the page. Events and effects that need attention are counted up to MostAside. After
// each reading, a Collector pauses for twenty times as long as the reading took.
//
// Answers are the latest responses of one destination, from a bounded number of rows.
//
// The following terms are defined only here:
//
//   - A first attempt is attempt 1 of an effect, or the first run of a Go handler for an event.
//     Each first attempt is counted for its destination and for the event's source.
//   - A failed first attempt ended in any way except done or superseded. An open breaker, a
//     pause and a wait for a rate are not attempts.
//   - A duplicate is an event that was accepted before. The duplicate rate is duplicates /
//     (accepted + duplicates).
//   - The usual value is the median of the same hour of the last seven days.
package measure
