package outbox

import (
	"embed"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/rule"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Accept           statement.Of[acceptArgs]
	CanCommit        statement.Bound
	ContentGuard     statement.Of[contentGuard]
	ContentGuards    statement.Of[contentGuards]
	CountReplayable  statement.Of[replayable]
	DropEvent        statement.Of[dropEvent]
	Event            statement.Of[identity.EventRef]
	EventReplays     statement.Of[identity.EventRef]
	EventsWithoutJob statement.Of[eventsWithoutJob]
	FailDispatch     statement.Of[failDispatch]
	Fence            statement.Of[fenceArgs]
	ForgetSenderKeys statement.Of[forgetSenderKeys]
	KeepSenderKeys   statement.Of[keepSenderKeys]
	KnownEvents      statement.Of[knownEvents]
	ListEvents       statement.Of[listEvents]
	MakePartitions   statement.Of[makePartitions]
	NoteDuplicates   statement.Of[noteDuplicates]
	Overview         statement.Bound
	ReleaseEvent     statement.Of[identity.EventRef]
	ReplayEvent      statement.Of[replayEvent]
	ReplayGuard      statement.Of[replayGuard]
	Replayable       statement.Of[replayablePage]
	SenderKeys       statement.Of[senderKeys]
	TryLock          statement.Of[tryLock]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// What statements take; rows of batches stand where they are made.

type dropEvent struct {
	identity.EventRef

	Error string
}

type eventsWithoutJob struct {
	GraceSeconds float64
	Limit        int
}

type failDispatch struct {
	identity.EventRef

	Generation int
	Error      string
}

type listEvents struct {
	Source    identity.Source
	EventType string
	Outcome   EventOutcome
	Since     *time.Time
	Before    int64 // accept_seq; 0: from the newest on
	Limit     int
}

type makePartitions struct{ DaysAhead int }

type replayEvent struct {
	identity.EventRef

	NewKeys     bool
	RequestedBy string
	Reason      string
}

type tryLock struct{ Name string }
