// Package repair repairs, for workers and the program, a database that is not what its
// workers left: work without a job gets one, and on another server no at_most_once
// effect starts until an operator confirms.
//
// # Jobs
//
// Our tables are the truth, River's are not. What lacks a job is found and enqueued
// again by upkeep, once a minute, and by a person's order: the same code.
//
// # Another server
//
// A database that was restored to an earlier time does not know what was done since. An
// at_least_once effect is done again under its key, which the receiver knows. An
// at_most_once effect may be pending in it, and was done an hour ago. So the table
// installation names the server on which it is known what was done, by its system
// identifier and its timeline: a restore from a base backup, and the promotion of a
// standby, begin another timeline, and a dump is restored into another system. The
// statement that claims an effect compares them with those of the server it runs on,
// and grants no at_most_once effect where they differ, in whichever process, however
// soon after the start of the server. Workers go on with all the rest.
//
// A person says what happened. [Repairer.Restored] parks what may have been done in the
// time that is missing, and names that time; [Repairer.Promoted] says that nothing is
// missing. Both make the server the one that is known. Where commits wait for the
// standby, nothing is missing on it, and [Repairer.FollowPromotion] needs no person.
//
// Two things cannot be told: a copy of the volume that is started as after a crash has
// the identifier and the timeline of the original, and so has a restore on a service
// that does not let us ask for them. docs/operations.md says what to do there.
package repair
