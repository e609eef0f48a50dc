package model

// EffectState is the state of an effect: see the table in package ledger.
type EffectState uint8

// The states of an effect. The state missing means that the effect has no row yet.
const (
	missing EffectState = iota
	pending
	started
	inDoubt
	done
	failed
	parked
	cancelled
)

var effectStates = [...]string{"missing", "pending", "started", "in_doubt", "done", "failed", "parked", "cancelled"}

// String returns the state's name in the database.
func (s EffectState) String() string { return effectStates[s] }

// unfinished reports whether the effect still needs work.
func (s EffectState) unfinished() bool { return s == pending || s == started || s == inDoubt }

// What is a cause of a state change: a column of the table in package ledger.
type What uint8

// The columns of the table.
const (
	claimed What = iota
	settledDone
	settledRefused
	settledNotApplied
	settledMaybeApplied
	keyExpired
	parkedByPerson
	cancelledByPerson
	retriedByPerson
)

var whats = [...]string{"claim", "done", "refused", "not applied", "maybe applied", "key_ttl over", "park", "cancel", "retry"}

// String returns the name of the column in package ledger.
func (w What) String() string { return whats[w] }

// Transition is a change of an effect's state.
type Transition struct {
	From EffectState
	What What
	To   EffectState
}

// Verdict is the outcome that a worker concludes from the call of an attempt.
type Verdict uint8

// The verdicts of package ledger.
const (
	verdictDone Verdict = iota
	verdictRefused
	verdictTurnedAway
	verdictNotApplied
	verdictMaybeApplied
)

func (v Verdict) what() What {
	switch v {
	case verdictDone:
		return settledDone
	case verdictRefused:
		return settledRefused
	case verdictTurnedAway, verdictNotApplied:
		return settledNotApplied
	case verdictMaybeApplied:
	}
	return settledMaybeApplied
}

// certainlyNotApplied reports whether the receiver certainly did not apply the call.
func (v Verdict) certainlyNotApplied() bool { return v != verdictDone && v != verdictMaybeApplied }

// String describes the transition in a sentence.
func (t Transition) String() string {
	return t.From.String() + " becomes " + t.To.String() + " by " + t.What.String()
}
