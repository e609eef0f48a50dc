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
	AddCounts       statement.Of[addCounts]
	Attempts        statement.Of[attempts]
	ByHour          statement.Of[byHour]
	ByName          statement.Of[lastSeen]
	Database        statement.Bound
	Deployed        statement.Of[deployed]
	Destinations    statement.Bound
	DropHours       statement.Of[dropCounts]
	DropLastSeen    statement.Of[keptFor]
	DropMinutes     statement.Of[dropCounts]
	DropSizes       statement.Of[keptFor]
	EffectsAside    statement.Of[aside]
	EventsAside     statement.Of[aside]
	HourLine        statement.Of[hourLine]
	HoursOf         statement.Of[hoursOf]
	LastAccepted    statement.Bound
	LastSeen        statement.Of[lastSeen]
	Lists           statement.Bound
	MeasureSizes    statement.Bound
	MinuteLine      statement.Of[minuteLine]
	MinutesOf       statement.Of[minutesOf]
	MinutesOfAll    statement.Of[minutesOfAll]
	NoteSeen        statement.Of[addCounts]
	OldestDue       statement.Of[oldestDue]
	Processes       statement.Of[processes]
	Quarantine      statement.Bound
	Recent          statement.Of[recent]
	RecentOf        statement.Of[recentOf]
	ReleaseLease    statement.Of[releaseLease]
	Retention       statement.Bound
	Sizes           statement.Bound
	Skipped         statement.Bound
	SumHours        statement.Of[sumHours]
	SumHoursOfAll   statement.Of[sumOfAll]
	SumMinutesOfAll statement.Of[sumOfAll]
	TakeLease       statement.Of[takeLease]
	Undispatched    statement.Of[undispatched]
	Unfinished      statement.Of[counted]
	Usual           statement.Bound
	UsualHour       statement.Of[usualHour]
	WaitingFor      statement.Of[waitingFor]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.OrDefault().SQL, rule.Fragments())
	return s, err
}

// The arguments of the statements about counts.

type countRow struct {
	SecondsAgo float64 // age of the start of the counted minute
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

type usualHour struct {
	Kind  Kind
	Part  What
	Whole []What
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

type sumOfAll struct{ AgainSeconds, BackSeconds float64 }

// periods are the last complete periods of a Series. A period lasts an hour, or StepSeconds in
// minutePeriods.
type periods struct {
	Steps      int
	LagSeconds float64
}

type minutePeriods struct {
	periods

	StepSeconds float64
}

type hourLine struct {
	periods

	Changes int // maximum number in one hour
}

type minuteLine struct {
	minutePeriods

	Changes int  // maximum number in one minute
	Counted bool // search each minute for counts; false if the sums over all names are read instead
}

type hoursOf struct {
	periods

	Kinds []Kind
	Name  string
}

type minutesOf struct {
	minutePeriods

	Kinds []Kind
	Name  string
}

type minutesOfAll struct {
	minutePeriods

	Kinds []Kind
}

type keptFor struct{ KeptSeconds float64 }

type dropCounts struct {
	keptFor

	Limit int
}

// The arguments of the statements of a Snapshot.

type aside struct{ Most int }

type counted struct{ Most, Least int }

type deployed struct{ WorkerSeconds float64 } // a process seen within this time counts as running

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
	Newest        int // maximum number of newest effects, over all destinations
	Aside         int // maximum number of the destination's unfinished, failed and parked effects each
	Said          int // maximum number of characters of an error
	WindowSeconds float64
}

type waitingFor struct {
	Destination string
	Most        int
}
