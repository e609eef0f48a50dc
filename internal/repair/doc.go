// Package repair repairs a database whose state differs from the state in which its workers left
// it. It enqueues work that has no job. On another server, it withholds at_most_once effects until
// an operator confirms the server.
//
// # Jobs
//
// Hooklatch's tables are authoritative, River's are not. Once a minute, upkeep finds work without a
// job and enqueues it again. An operator action runs the same code.
//
// # Another server
//
// A restored database does not contain the work done after the time to which it was restored. An
// at_least_once effect is done again under its key, which the receiver knows. An at_most_once
// effect may be pending, although it was done an hour ago. The table installation therefore
// identifies the known server, whose database is complete, by its system identifier and its
// timeline. A restore from a base backup or the promotion of a standby begins another timeline. A
// dump is restored into a server with another system identifier. The statement that claims an
// effect compares both values with its own server's values. If they differ, no process can claim an
// at_most_once effect, not even immediately after the server's start. Workers continue with all
// other work.
//
// An operator declares what happened. [Repairer.Restored] declares the time to which the database
// was restored, and parks the effects that may have been done since. [Repairer.Promoted] declares
// that nothing is missing. Both declarations make the current server the known server. If commits
// wait for the standby, the standby lacks nothing, and [Repairer.FollowPromotion] needs no
// operator.
//
// Two cases cannot be detected. A copy of the volume that starts with crash recovery has the
// identifier and timeline of the original. Some hosted services hide these values, so a restore
// there leaves no trace. docs/operations.md describes the operator's steps in both cases.
package repair
