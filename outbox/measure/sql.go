package measure

import (
	"embed"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	AddCounts    statement.Of[addCounts]
	Attempts     statement.Of[attempts]
	ByHour       statement.Of[byHour]
	Database     statement.Bound
	Destinations statement.Bound
	DropHours    statement.Of[dropCounts]
	DropLastSeen statement.Of[keptFor]
	DropMinutes  statement.Of[dropCounts]
	DropSizes    statement.Of[keptFor]
	EffectsAside statement.Of[aside]
	EventsAside  statement.Of[aside]
	LastAccepted statement.Bound
	LastSeen     statement.Of[lastSeen]
	Lists        statement.Bound
	MeasureSizes statement.Bound
	NoteSeen     statement.Of[addCounts]
	OldestDue    statement.Of[oldestDue]
	Processes    statement.Of[processes]
	Quarantine   statement.Bound
	Recent       statement.Of[recent]
	RecentOf     statement.Of[recentOf]
	ReleaseLease statement.Of[releaseLease]
	Retention    statement.Bound
	Sizes        statement.Bound
	Skipped      statement.Bound
	SumHours     statement.Of[sumHours]
	TakeLease    statement.Of[takeLease]
	Undispatched statement.Of[undispatched]
	Unfinished   statement.Of[counted]
	Usual        statement.Bound
	WaitingFor   statement.Of[waitingFor]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.OrDefault().SQL, rule.Fragments())
	return s, err
}

// The arguments of the statements about counts.

type countRow struct {
	SecondsAgo float64 // age of the start of its minute
	Kind       string
	Name       string
	What       string
	N          int64
}

type addCounts struct{ Added []countRow }

type byHour struct {
	Kind  Kind
	Hours int
	Whats []What
}

type lastSeen struct {
	Kind Kind
	Name string
}

type recent struct{ WindowSeconds float64 }

type recentOf struct {
	recent
	lastSeen
}

type sumHours struct{ AgainSeconds float64 }

type keptFor struct{ KeptSeconds float64 }

type dropCounts struct {
	keptFor

	Limit int
}

// The arguments of the statements of a Snapshot.

type aside struct{ Most int }

type counted struct{ Most, Least int }

type undispatched struct {
	counted

	WorkerSeconds float64 // a worker seen within this time counts as running
}

type oldestDue struct{ Orders int }

type processes struct{ SeenSeconds float64 }

type releaseLease struct{ Holder uuid.UUID }

type takeLease struct {
	Holder       uuid.UUID
	LeaseSeconds float64
}

// The arguments of the statements of Answers.

type attempts struct {
	Destination   string
	Newest        int // over all destinations
	Aside         int // of this destination, in each state
	Said          int // maximum bytes of an error
	WindowSeconds float64
}

type waitingFor struct {
	Destination string
	Most        int
}
