package export

import (
	"embed"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	AddPart         statement.Of[addPart]
	AnyDay          statement.Bound
	BeginDay        statement.Of[oneDay]
	ClearFailure    statement.Of[oneDay]
	ClearGarbage    statement.Of[namesOfDay]
	CountDay        statement.Of[span]
	Day             statement.Of[oneDay]
	DayIsStored     statement.Of[oneDay]
	Days            statement.Bound
	DeleteDay       statement.Of[deleteDay]
	DeliveriesOfDay statement.Of[deliveriesOfDay]
	EventDocuments  statement.Of[eventDocuments]
	EventPlace      statement.Of[eventPlace]
	EventsBehind    statement.Of[eventsBehind]
	FailDay         statement.Of[failDay]
	FinishDay       statement.Of[finishDay]
	ForgetDay       statement.Of[forgetDay]
	ForgetErasures  statement.Of[forgetErasures]
	LockDays        statement.Bound
	NotedErasures   statement.Of[notedErasures]
	NoteErasure     statement.Of[noteErasure]
	NotesOfEvents   statement.Of[notesOfEvents]
	ReserveNames    statement.Of[reserveNames]
	TakeGarbage     statement.Of[oneDay]
	UnfinishedDay   statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// The arguments of the statements.

type notedErasures struct {
	identity.EventRef

	After time.Time
	Look  int
}

type notesOfEvents struct{ Events []identity.EventRef }

type noteErasure struct {
	identity.EventRef

	Note string
}

type forgetErasures struct{ Notes []doneNote }

type doneNote struct {
	identity.EventRef

	RequestedAt time.Time
}

type oneDay struct{ Day time.Time }

type deleteDay struct{ Day, BegunAt time.Time }

type span struct{ From, Until time.Time }

type namesOfDay struct {
	Day   time.Time
	Names []string
}

type reserveNames struct {
	Day, BegunAt time.Time
	Names        []string
}

type addPart struct {
	Day, BegunAt time.Time
	Part         []byte
	Parts        int
}

type failDay struct {
	Day   time.Time
	Error string
}

type finishDay struct {
	Day, BegunAt              time.Time
	Was, Manifest             string
	SHA256                    []byte
	Former, Names             []string
	Deliveries, Events, Bytes int64
}

type forgetDay struct {
	Day    time.Time
	Was    string
	Former []string
}

type eventPlace struct{ At time.Time }

type eventsBehind struct {
	After, Until int64
	Look         int
}

type eventDocuments struct{ Events []int64 }

type deliveriesOfDay struct {
	From, Until time.Time
	After       uuid.UUID
	Look        int
	Bytes       int64
}
