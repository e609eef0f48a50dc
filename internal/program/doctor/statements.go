package doctor

import (
	"embed"
	"time"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query waiting/*.sql rights/*.sql
var queries embed.FS

// questions contains the texts of query/*.sql: the identity of the database, the server settings,
// and the violations of each invariant.
type questions struct {
	AttemptsBeyondEffect  statement.Of[shown]
	Database              statement.Bound
	DoneWithoutAttempt    statement.Of[shown]
	EffectsPastLease      statement.Of[shown]
	EffectsWithManyJobs   statement.Of[shown]
	EffectsWithoutEvent   statement.Of[shown]
	EffectsWithoutJob     statement.Of[shown]
	EventsHeld            statement.Of[shown]
	EventsWithoutDelivery statement.Of[shown]
	EventsWithoutJob      statement.Of[shown]
	LinksWithoutEffect    statement.Of[shown]
	SequencesBehind       statement.Of[shown]
	Server                statement.Bound
}

// shown is the maximum number of violations listed for an invariant.
type shown struct{ Limit int }

func loadQuestions(name schema.Name) (questions, error) {
	var q questions
	err := statement.Load(&q, queries, "query", name.SQL, rule.Fragments())
	return q, err
}

// waitingQuestions contains the texts of waiting/*.sql.
type waitingQuestions struct {
	Configurations statement.Of[workerSeconds]
	Destinations   statement.Of[lateBefore]
	Effects        statement.Bound
	Events         statement.Of[workerSeconds]
	FailedEvents   statement.Bound
	PausedQueues   statement.Bound
	Refused        statement.Bound
	Worker         statement.Bound
}

// lateBefore is the time before which an effect must have been due to count as late.
type lateBefore struct{ LateBefore time.Time }

// workerSeconds is the maximum time since a running worker was last seen.
type workerSeconds struct{ WorkerSeconds float64 }

func loadWaitingQuestions(name schema.Name) (waitingQuestions, error) {
	var q waitingQuestions
	err := statement.Load(&q, queries, "waiting", name.SQL, rule.Fragments())
	return q, err
}
