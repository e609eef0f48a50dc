package retention

import (
	"embed"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	Announce             statement.Of[announce]
	ApproveProgress      statement.Of[markProgress]
	Clock                statement.Bound
	CountContents        statement.Of[before]
	CountEffects         statement.Of[before]
	CountGuards          statement.Of[countOf]
	CountOperations      statement.Of[before]
	CountReplays         statement.Of[before]
	CountVersions        statement.Of[before]
	Days                 statement.Of[days]
	DeleteContents       statement.Of[olderThan]
	DeleteCopies         statement.Of[olderThan]
	DeleteEffects        statement.Of[deleteEffects]
	DeleteEvents         statement.Of[deleteEvents]
	DeleteGuards         statement.Of[guardsAged]
	DeleteKeptDeliveries statement.Of[deleteKeptDeliveries]
	DeleteKeptEvents     statement.Of[deleteKeptEvents]
	DeleteOperations     statement.Of[olderThan]
	DeleteReplays        statement.Of[olderThan]
	DeleteVersions       statement.Of[versionsAged]
	DetachDay            statement.Of[oneDay]
	DropDay              statement.Of[oneDay]
	EventsPutAside       statement.Of[eventsPutAside]
	EventsReceived       statement.Of[eventsReceived]
	ForgetKeptEvents     statement.Of[forgetKeptEvents]
	KeepDeliveries       statement.Of[keepDeliveries]
	KeepEvents           statement.Of[keepEvents]
	KeptEvents           statement.Bound
	LookAtEvents         statement.Of[deleteEvents]
	Need                 statement.Bound
	NoteKeptDeliveries   statement.Of[keepEvents]
	Oldest               statement.Bound
	OldestEvent          statement.Of[oldestEvent]
	Outliving            statement.Of[outliving]
	Progress             statement.Bound
	RecordProgress       statement.Of[recordProgress]
	RowWidth             statement.Of[rowWidth]
	SettingsOfProcesses  statement.Of[seenWithin]
	Sources              statement.Bound
	StopProgress         statement.Of[markProgress]
	ThinDay              statement.Of[thinDay]
	TryLock              statement.Of[tryLock]
	WhenTheyCame         statement.Of[keepEvents]
	Withdraw             statement.Of[withdraw]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// byIndex returns the pool for lists that are read by index, outside a transaction.
func byIndex(r *run) pipeline.ByIndex { return pipeline.ByIndex{Sender: r.pool} }

// The arguments of the statements.

type announce struct {
	Name, Kind, Version, ConfigHash string

	Settings []byte
}

type withdraw struct{ Name string }

type seenWithin struct{ SeenSeconds float64 }

type before struct{ Before time.Time }

type countOf struct {
	Source identity.Source
	Before time.Time
}

type rowWidth struct{ Table string }

type days struct{ Whole string }

type oneDay struct {
	Whole string
	Day   time.Time
}

type thinDay struct {
	Whole   string
	Day     time.Time
	Numbers []int64
}

type olderThan struct {
	Before time.Time
	Look   int
}

type deleteEffects struct {
	place

	Before time.Time
	Look   int
}

// member is a source in a walk, and the time before which its events have expired.
type member struct {
	Source identity.Source
	Before time.Time
}

type deleteEvents struct {
	Members      []member
	After, Until int64
	Look         int
	Needed       []int64
	Since        time.Time
}

type deleteKeptEvents struct {
	Members []member
	After   int64
	Look    int
	Needed  []int64
	Since   time.Time
}

type forgetKeptEvents struct {
	After int64
	Look  int
}

type keepEvents struct{ Events []int64 }

type keepDeliveries struct {
	Day    time.Time
	Events []int64
}

type eventsReceived struct {
	Source      identity.Source
	After       int64
	From, Until int64
	Look        int
}

type eventsPutAside struct {
	After       int64
	From, Until int64
	Look        int
}

type deleteKeptDeliveries struct {
	After  uuid.UUID
	Look   int
	Needed []int64
	Since  time.Time
}

type guardsAged struct {
	Source identity.Source
	SeenAt time.Time
	Hash   []byte
	Before time.Time
	Look   int
}

type versionsAged struct {
	versionPlace

	Before time.Time
	Look   int
}

type outliving struct{ From, Until time.Time }

type oldestEvent struct{ After int64 }

type mark struct {
	What    What
	Source  identity.Source
	Horizon time.Time
	Before  time.Time
}

type markProgress struct{ Marked []mark }

type recordProgress struct {
	What        What
	Source      identity.Source
	Horizon     time.Time
	AcceptSeq   int64
	Oldest      *time.Time
	Rows, Bytes int64
}

type tryLock struct{ Name string }
