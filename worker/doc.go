// Package worker processes accepted events: it dispatches each event to routes and
// handlers, and brings every effect to an end.
//
// A Worker is a River client. River starts the runs; the ledger of package outbox
// says what a run may do, and package route what an event leads to:
//
//	dispatch   load the event, plan its effects (a pure function of event and
//	           routes), commit them (T2). With handlers: fence, handlers,
//	           effects, jobs and the completion of the job in one transaction.
//	           Effects that can be attempted at once are claimed by T2, and
//	           attempted without a run of their job (see births).
//	effect     wait for a slot and a rate token, claim an attempt, call the
//	           destination, settle the attempt (T3; see attempter).
//	upkeep     keep partitions ahead, enqueue again what lost its job, make
//	           River's queues agree with the pauses, probe paused destinations, run
//	           the checks of the configuration.
//
// A row of river_job is only a wake-up. River rescues a run that still lives,
// and completes a row whichever run asks for it. So a run that finds another
// one in charge never completes the row: it snoozes, and the next run asks the
// ledger again.
//
// How a run ends in River:
//
//	gone        the first attempt did the effect, the first run dispatched the event:
//	            the transaction that says so deletes the job
//	completed   the effect is done, or was done before, or gets a new job when its
//	            turn comes; the event is dispatched
//	retryable   the attempt failed and another follows, when the ledger says
//	scheduled   snoozed: not due yet, another attempt holds the lease, no slot,
//	            not its turn in its order
//	cancelled   the effect is failed, parked or cancelled, or a handler gave the
//	            event up. Not completed: in River UI that would look as if it
//	            were done
//	discarded   a dispatch that failed for the last time; its event is failed
package worker
