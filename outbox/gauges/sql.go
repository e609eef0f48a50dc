package gauges

import (
	"embed"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/rule"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Database     statement.Bound
	Destinations statement.Bound
	EffectsAside statement.Of[aside]
	EventsAside  statement.Of[aside]
	LastAccepted statement.Bound
	Lists        statement.Bound
	OldestDue    statement.Of[oldestDue]
	Processes    statement.Of[processes]
	Quarantine   statement.Bound
	ReleaseLease statement.Of[releaseLease]
	Retention    statement.Bound
	Sizes        statement.Bound
	Skipped      statement.Bound
	TakeLease    statement.Of[takeLease]
	Undispatched statement.Of[undispatched]
	Unfinished   statement.Of[counted]
	Usual        statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// What statements take.

type aside struct{ Most int }

type counted struct{ Most, Least int }

type undispatched struct {
	counted

	WorkerSeconds float64 // a worker that was seen since then runs
}

type oldestDue struct{ Orders int }

type processes struct{ SeenSeconds float64 }

type releaseLease struct{ Holder uuid.UUID }

type takeLease struct {
	Holder       uuid.UUID
	LeaseSeconds float64
}
