// Package failpoint injects faults at named places in the code: it kills, suspends or delays the
// process, or returns an error. Only binaries built with the tag failpoint inject faults:
//
//	go build -tags failpoint ./cmd/hooklatch
//	HOOKLATCH_FAILPOINTS='settle.after_commit=kill@3' hooklatch serve
//
// Without the tag, the functions here do nothing, and the compiler removes the calls.
//
// # Places
//
// Package commit passes three places in every transaction, so that no transaction can lack them:
// <name>.begin, <name>.before_commit and <name>.after_commit. Other places are named where the code
// passes them. The place also determines the meaning of the action error. Before a COMMIT, the
// error is a transient fault and nothing was committed. After a COMMIT, the transaction is
// committed, but its caller cannot know that.
//
// # Environment
//
// HOOKLATCH_FAILPOINTS is a list of name=action[(argument)][@passages], separated by
// commas. Actions:
//
//   - kill: SIGKILL, to this process
//   - stop: SIGSTOP, to this process; it continues after a SIGCONT
//   - error
//   - delay(200ms)
//
// The process counts passages, from 1: @3 is the third only, @3+ the third and all later ones.
// Without a number, the action applies to every passage.
//
// HOOKLATCH_FAILPOINT_TRACE is the path of a file. The process appends the name of each place that
// it passes, one per line, for the first 20 passages of each place. HOOKLATCH_FAILPOINT_FIRED is
// the path of a file to which the process appends name, action and passage before it takes an
// action. Several processes can share both files.
package failpoint

// Moment is a failpoint in every transaction.
type Moment string

// Moments in a transaction.
const (
	Begin        Moment = "begin"         // after BEGIN
	BeforeCommit Moment = "before_commit" // everything is written
	AfterCommit  Moment = "after_commit"  // the server has confirmed the COMMIT
)
