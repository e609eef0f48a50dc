// Package bugs lists the bugs that hookstorm plants to test its checker and its model.
// bugs.mutants describes how each bug changes the code.
package bugs

import (
	_ "embed"
	"sync"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

// Bug is the name of a bug in bugs.mutants.
type Bug string

// The bugs to which schedules and the model refer. bugs.mutants describes them.
const (
	AckBeforeCommit         Bug = "ack_before_commit"
	SelectThenInsert        Bug = "select_then_insert"
	JobOutsideTransaction   Bug = "job_outside_transaction"
	DedupOwnTransaction     Bug = "dedup_own_transaction"
	BodyHashAsKey           Bug = "body_hash_as_key"
	CommitOnRequestContext  Bug = "commit_on_request_context"
	SafeToRetryBelieved     Bug = "safe_to_retry_believed"
	SynchronousCommitOff    Bug = "synchronous_commit_off"
	CacheFilledBeforeCommit Bug = "cache_filled_before_commit"
	SharedBeforeCommit      Bug = "shared_before_commit"
	SharedWithoutLife       Bug = "shared_without_life"
	WindowOfADuplicate      Bug = "window_of_a_duplicate"

	DispatchWithoutFence Bug = "dispatch_without_fence"
	CompensatingDelete   Bug = "compensating_delete"
	ReplayUnrecorded     Bug = "replay_unrecorded"
	OldProcessDecides    Bug = "old_process_decides"

	SettleWithoutFence       Bug = "settle_without_fence"
	NewKeyOnRetry            Bug = "new_key_on_retry"
	DoneBeforeWork           Bug = "done_before_work"
	ExternalCallBeforeCommit Bug = "external_call_before_commit"
	LeaseIgnored             Bug = "lease_ignored"
	OrderLockDropped         Bug = "order_lock_dropped"
	ProbePassesPause         Bug = "probe_passes_pause"

	RetentionBelowWindow Bug = "retention_below_window"
)

//go:embed bugs.mutants
var text string

// Mutants returns the bugs as code changes.
var Mutants = sync.OnceValue(func() []mutant.Mutant {
	all, err := mutant.Parse("bugs.mutants", text)
	if err != nil {
		panic(err) // the list is embedded
	}
	return all
})

// All returns the names of all bugs, in the order of bugs.mutants.
func All() []Bug {
	var all []Bug
	for _, m := range Mutants() {
		all = append(all, Bug(m.Name))
	}
	return all
}
