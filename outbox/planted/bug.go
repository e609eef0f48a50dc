// Package planted is responsible for the bugs we put into our own code on purpose,
// to see that hookstorm finds each of them. They are compiled in only with the
// build tag planted, and then the environment chooses one.
//
// Each stands where the honest code prevents it, as small as it can be: a statement
// that is exchanged here ([Statements]), or a branch on [Is]. Without the tag Is is
// false before the program runs, and nothing of this is left in it.
package planted

// Environment names the variable that chooses the bug of a process. Empty: none,
// and the program is as honest as without the tag.
const Environment = "HOOKLATCH_PLANTED"

// Bug is something that others do, or that we nearly did.
type Bug string

// The bugs.
const (
	// Accepting.
	AckBeforeCommit        Bug = "ack_before_commit"         // the sender is answered while the COMMIT is still to come
	SelectThenInsert       Bug = "select_then_insert"        // who asked first whether the event is there may insert it
	JobOutsideTransaction  Bug = "job_outside_transaction"   // jobs are inserted on a connection of their own
	DedupOwnTransaction    Bug = "dedup_own_transaction"     // the event's row is committed before its payload and job
	BodyHashAsKey          Bug = "body_hash_as_key"          // deliveries with equal bodies are one event
	CommitOnRequestContext Bug = "commit_on_request_context" // a client that hangs up cancels the COMMIT, and nobody is told
	SafeToRetryBelieved    Bug = "safe_to_retry_believed"    // what pgx calls safe to retry is taken for not committed
	SynchronousCommitOff   Bug = "synchronous_commit_off"    // COMMIT does not wait for the disk
	WindowOfADuplicate     Bug = "window_of_a_duplicate"     // a duplicate opens the window of a body that is not stored
	// CacheFilledBeforeCommit: an event is known again before it is committed.
	CacheFilledBeforeCommit Bug = "cache_filled_before_commit"

	// Dispatching.
	DispatchWithoutFence Bug = "dispatch_without_fence" // every run of a dispatch writes
	CompensatingDelete   Bug = "compensating_delete"    // an event whose dispatch failed is deleted, for its sender to deliver again
	ReplayUnrecorded     Bug = "replay_unrecorded"      // a replay leaves no row that says who ordered it
	OldProcessDecides    Bug = "old_process_decides"    // a process with an older configuration plans what the newest one would plan otherwise

	// Performing.
	SettleWithoutFence       Bug = "settle_without_fence"        // an attempt settles whichever attempt runs now
	NewKeyOnRetry            Bug = "new_key_on_retry"            // every attempt has a key of its own
	DoneBeforeWork           Bug = "done_before_work"            // an effect is done before its receiver is called
	ExternalCallBeforeCommit Bug = "external_call_before_commit" // the receiver is called inside the transaction of the claim
	LeaseIgnored             Bug = "lease_ignored"               // an effect that is at work may be claimed again
	OrderLockDropped         Bug = "order_lock_dropped"          // orders are asked without their locks
	ProbePassesPause         Bug = "probe_passes_pause"          // the probe of a breaker does not care for an operator's pause

	// Keeping.
	RetentionBelowWindow Bug = "retention_below_window" // events are forgotten while their senders may still deliver them again
)

// Bugs returns all of them.
func Bugs() []Bug {
	return []Bug{
		AckBeforeCommit, SelectThenInsert, JobOutsideTransaction, DedupOwnTransaction, BodyHashAsKey,
		CommitOnRequestContext, SafeToRetryBelieved, SynchronousCommitOff, CacheFilledBeforeCommit, WindowOfADuplicate,
		DispatchWithoutFence, CompensatingDelete, ReplayUnrecorded, OldProcessDecides,
		SettleWithoutFence, NewKeyOnRetry, DoneBeforeWork, ExternalCallBeforeCommit, LeaseIgnored, OrderLockDropped, ProbePassesPause,
		RetentionBelowWindow,
	}
}
