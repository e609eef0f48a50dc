// Package riverjob defines the kinds, arguments and queues of Hooklatch's River jobs, and inserts
// the jobs.
package riverjob

import "github.com/hooklatch/hooklatch/outbox/identity"

// Kinds of our jobs. The kinds must never change: a River leader discards stuck jobs of unknown
// kinds.
const (
	KindDispatch = "dispatch"
	KindEffect   = "effect"
	KindRun      = "upkeep.run"
)

// MaxDispatchAttempts is the number of attempts after which an event's dispatch counts as
// failed.
const MaxDispatchAttempts = 25

// DispatchArgs are the arguments of a dispatch job: a reference, never a payload.
type DispatchArgs struct {
	EventID identity.EventID `json:"event_id"`
	Source  identity.Source  `json:"source"`
}

// Kind implements river.JobArgs.
func (DispatchArgs) Kind() string { return KindDispatch }

// Ref returns the event to dispatch.
func (a DispatchArgs) Ref() identity.EventRef {
	return identity.EventRef{Source: a.Source, EventID: a.EventID}
}

// RunArgs are the arguments of a bulk run's job.
type RunArgs struct {
	Run int64 `json:"run"`
}

// Kind implements river.JobArgs.
func (RunArgs) Kind() string { return KindRun }

// EffectArgs are the arguments of an effect job: a reference, never a payload.
type EffectArgs struct {
	Destination string         `json:"destination"`
	Generation  int            `json:"generation"`
	Key         identity.Key   `json:"key"`
	Scope       identity.Scope `json:"scope"`
}

// Kind implements river.JobArgs.
func (EffectArgs) Kind() string { return KindEffect }

// ID returns the effect to attempt.
func (a EffectArgs) ID() identity.EffectID {
	return identity.EffectID{Scope: a.Scope, Key: a.Key, Generation: a.Generation}
}
