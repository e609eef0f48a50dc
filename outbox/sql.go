package outbox

import (
	"embed"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	Accept              statement.Of[acceptArgs]
	AcceptOne           statement.Of[acceptOneArgs]
	AcceptPlanned       statement.Of[acceptPlannedArgs]
	CanCommit           statement.Bound
	ContentGuard        statement.Of[contentGuard]
	ContentGuards       statement.Of[contentGuards]
	DatabaseLife        statement.Bound
	EventsWithoutJob    statement.Of[eventsWithoutJob]
	FailDispatch        statement.Of[failDispatch]
	Fence               statement.Of[fenceArgs]
	ForgetSenderKeys    statement.Of[forgetSenderKeys]
	InstallationSecret  statement.Bound
	KeepSearchValues    statement.Of[keepSearchValues]
	KeepSenderKeys      statement.Of[keepSenderKeys]
	KnownEvents         statement.Of[knownEvents]
	MakePartitions      statement.Of[makePartitions]
	MoveContentGuards   statement.Of[moveContentGuards]
	NoteCopies          statement.Of[noteCopies]
	NoteDuplicates      statement.Of[noteDuplicates]
	NoteRetries         statement.Of[noteRetries]
	ReceiptTime         statement.Bound
	ReplayGuard         statement.Of[replayGuard]
	SenderKeys          statement.Of[senderKeys]
	TryLock             statement.Of[tryLock]
	UndispatchedSources statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// Arguments of statements. Batch rows are declared next to the code that builds them.

type eventsWithoutJob struct {
	Source       identity.Source
	Queues       []string
	GraceSeconds float64
	Look         int
}

type failDispatch struct {
	identity.EventRef
	newerThan

	Generation  int
	Error       string
	Routes      string
	ForHandlers bool
}

type makePartitions struct{ DaysAhead int }

type tryLock struct{ Name string }
