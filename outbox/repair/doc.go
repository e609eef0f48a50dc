// Package repair repairs, for workers and the program, a database that is not in the state in
// which its workers left it. It gives jobs to work without one. On another server, it withholds
// at_most_once effects until an operator confirms.
//
// # Jobs
//
// Our tables are authoritative, River's are not. Upkeep finds work without a job once a minute
// and enqueues it again. An operator's action runs the same code.
//
// # Another server
//
// A restored database does not know what was done after the time to which it was restored. An
// at_least_once effect is done again under its key, which the receiver knows. An at_most_once
// effect may be pending, although it was done an hour ago. The table installation therefore
// identifies the known server, the one whose database is complete, by its system identifier and
// its timeline. A restore from a base backup, and the promotion of a standby, begin another
// timeline. A dump is restored into another system. The statement that claims an effect
// compares them with those of its own server. If they differ, it grants no at_most_once effect,
// in any process, however soon after the start of the server. Workers continue with everything
// else.
//
// An operator declares what happened. [Repairer.Restored] names the missing time, and parks the
// effects that may have been done in it. [Repairer.Promoted] declares that nothing is missing.
// Both make the current server the known one. If commits wait for the standby, it lacks
// nothing, and [Repairer.FollowPromotion] needs no operator.
//
// Two cases cannot be detected. A copy of the volume that is started as after a crash has the
// identifier and the timeline of the original. So does a restore on a service that does not let
// us query them. docs/operations.md describes what to do there.
package repair
