package fleet

import (
	"embed"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	AnnounceWorker       statement.Of[announceWorker]
	BeginProbe           statement.Of[beginProbe]
	CloseBreaker         statement.Of[named]
	CountUnsuccessful    statement.Of[aside]
	CreateQueue          statement.Of[createQueue]
	DestinationsAside    statement.Of[asideOf]
	EndJobs              statement.Of[endJobs]
	FailProbe            statement.Of[openBreaker]
	FreeJobs             statement.Of[freeJobs]
	ListDestinations     statement.Of[seenWithin]
	LockDestination      statement.Of[named]
	MoveJobs             statement.Of[moveJobs]
	PauseOf              statement.Of[named]
	PlaceDestinations    statement.Of[seenWithin]
	ProbeNow             statement.Of[named]
	ReadingDestinations  statement.Of[readingDestinations]
	RecallJobs           statement.Of[recallJobs]
	RedirectEvent        statement.Of[redirectEvent]
	RedirectJob          statement.Of[redirectJob]
	RegisterDestinations statement.Of[registerDestinations]
	RendersElsewhere     statement.Of[rendersElsewhere]
	RetireDestination    statement.Of[retireDestination]
	SetAside             statement.Of[setAside]
	SetPaused            statement.Of[setPaused]
	TakeBackEvents       statement.Of[takeBackEvents]
	TakeTokens           statement.Of[takeTokens]
	TellPausesAgain      statement.Of[tellPausesAgain]
	TripBreaker          statement.Of[tripBreaker]
	UnhandledSources     statement.Of[unhandledSources]
	UnservedQueues       statement.Of[seenWithin]
	WaitingEffects       statement.Bound
	WaitsFor             statement.Of[named]
	WithdrawWorker       statement.Of[withdrawWorker]
	WrongPauses          statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}
