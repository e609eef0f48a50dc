// Package minutes counts what happened in each minute and hour, by source and
// destination, of all processes together.
//
// Processes count in memory and add what they counted to the database every ten
// seconds, outside of all other transactions. What these counts say is for people who
// look at rates: a process that is killed takes up to ten seconds of them with it, and
// so does an answer of the database that is lost. Facts are in the ledger.
//
// Words that people argue about are defined here, and nowhere else:
//
//   - A first attempt is attempt 1 of an effect, or the first run of a Go handler for an
//     event. It is counted for the destination, and for the source of the event.
//   - It failed when it ended in any way but done or superseded. An open breaker, a pause
//     and a wait for a rate are no attempt.
//   - A duplicate is an event that came again. The rate of duplicates is their share of
//     all that came: duplicates / (accepted + duplicates).
package minutes
