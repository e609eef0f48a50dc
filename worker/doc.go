// Package worker dispatches accepted events to routes and handlers, and carries out every effect
// until it is finished.
//
// A Worker is a River client. River starts the runs of jobs. Package ledger decides what a run may
// do, and package route plans an event's effects. The kinds of jobs:
//
//	dispatch   load the event, plan its effects (a pure function of event and
//	           routes), commit them (T2). With handlers: fence, handlers,
//	           effects, jobs and the completion of the job in one transaction.
//	           Effects that can be attempted immediately are claimed by T2, and
//	           attempted without a run of their job (see births).
//	effect     wait for a slot and a rate token, claim an attempt, call the
//	           destination, settle the attempt (T3; see attempter).
//	upkeep     create partitions ahead of time, enqueue work that lost its job, delete
//	           expired data, redact content, measure the tables, evaluate alerts,
//	           start passes over provider lists, probe destinations that are down,
//	           process bulk runs, run the configured checks.
//
// In each process, a pauseKeeper keeps River's queues in line with the pauses. It does not run as a
// job.
//
// A row of river_job only triggers runs. River may rescue the job of a run that is still alive, and
// lets any run complete the row. A run therefore never completes the row while another run holds
// the lease. Instead, it snoozes the job, and the job's next run queries the ledger again.
//
// The possible ends of a run in River:
//
//	deleted     the first attempt applied the effect, or the first run dispatched the
//	            event: the transaction that records this deletes the job
//	completed   the effect is done, was done before, or gets a new job when its turn
//	            comes; the event is dispatched
//	retryable   the attempt failed and another follows at the time the ledger gives, or the
//	            dispatch failed
//	scheduled   snoozed: not due yet, another attempt holds the lease, no slot,
//	            not its turn in its order
//	cancelled   the effect is failed, parked or cancelled, or a handler gave up on the
//	            event. The job is not completed, because River UI would show success
//	discarded   a dispatch that failed for the last time; its event is failed
package worker
