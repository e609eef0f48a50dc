// Package retention deletes, for workers and the program, everything past its retention that no
// unfinished work needs.
//
// # What is deleted, and how
//
// Deliveries are deleted by the day. The deliveries of a day that unfinished work needs are
// copied to deliveries_kept. The day is then detached from the table concurrently. Deliveries
// that became needed meanwhile are copied too. Finally the day is dropped, which frees its disk
// space immediately. Links, attempts and transitions are deleted by the day as well; rows of
// unfinished work stay in their day. All other rows are deleted in slices, in the order in
// which they arrived. A cursor of accept_seq walks the events. It skips those that unfinished
// work needs and records them in events_kept.
//
// An event is needed while it is received, failed or held. It is also needed while one of its
// effects is pending, started, in doubt or parked, or is failed or cancelled and sends the
// delivery as received. One statement, need.sql, reads these before anything is deleted. The
// generation of an event reveals a later change.
//
// # The brake
//
// A run that would go more than three days beyond the previous one deletes nothing and waits
// for an operator. A clock that jumped, or a setting shortened by mistake, therefore deletes
// nothing. The longest setting among all running processes applies, and a source that none of
// them has keeps the default.
package retention
