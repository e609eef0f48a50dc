// Package retention deletes expired rows that no unfinished work needs, for workers and the
// program.
//
// # What is deleted, and how
//
// Deliveries are deleted one day at a time. First, the day's deliveries that unfinished work needs
// are copied to deliveries_kept. The day is then detached from the table concurrently. Deliveries
// that became needed during these steps are copied too. Finally the day is dropped, which frees its
// disk space immediately. Search values, links, attempts and transitions are also deleted one day
// at a time. Rows of unfinished work stay in their day, but search values do not. All other rows
// are deleted in slices. A walk over accept_seq reads the events in order of arrival. The walk
// skips events that unfinished work needs, and records them in events_kept.
//
// An event is needed while it is received, failed or held: each deletion reads these states. It is
// also needed while one of its effects is pending, started, in doubt or parked. A failed or
// cancelled effect that sends the delivery as received also needs its event. One statement,
// need.sql, reads the events that effects need, before anything is deleted. An event dispatched
// shortly before or after that statement is kept, because its effects may be missing from the
// result. An event whose outcome or generation changes while it is being deleted is kept too.
//
// With an export, each day of deliveries is first exported by package export, and an export that
// fails ends the run. An event is therefore deleted only after its deliveries are exported.
//
// # The brake
//
// A run that would go more than three days beyond the previous run deletes nothing, and retention
// waits for an operator. A clock that jumped, or a setting shortened by mistake, therefore deletes
// nothing. The longest setting among all running processes applies. The longest Other applies to a
// source that no process configures.
package retention
