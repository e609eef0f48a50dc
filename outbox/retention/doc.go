// Package retention deletes, for workers and the program, what is past its retention,
// and nothing that unfinished work needs.
//
// # What goes, and how
//
// Deliveries go by the day: what unfinished work needs of a day is copied to
// deliveries_kept, the day is detached from the table concurrently, what came to be
// needed meanwhile is copied too, and the day is dropped, which frees its disk at
// once. Links, attempts and transitions go by the day likewise; of a day in which
// something unfinished has rows, those rows stay. Everything else goes in slices, by
// the order it came in: events behind a cursor of accept_seq, which passes by what
// unfinished work keeps and remembers it in events_kept.
//
// An event is needed while it is received, failed or held, and while an effect of it
// is pending, started, in doubt or parked, or failed or cancelled and sends the
// delivery as it came. That is one statement, need.sql, read before anything is
// deleted; what changes meanwhile is found by the generation of the event.
//
// # The brake
//
// A run that would go more than three days beyond the one before does nothing and
// waits for a person: a clock that jumped, or a setting that was shortened by mistake,
// deletes nothing. Of the configurations of all running processes the longest setting
// counts, and a source that none of them has keeps the default.
package retention
