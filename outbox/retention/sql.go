package retention

import (
	"embed"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
	"github.com/hooklatch/hooklatch/outbox/planted"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Announce            statement.Of[announce]
	ApproveProgress     statement.Of[markProgress]
	Oldest              statement.Bound
	Progress            statement.Bound
	RecordProgress      statement.Of[recordProgress]
	SettingsOfProcesses statement.Of[seenWithin]
	Sources             statement.Bound
	StopProgress        statement.Of[markProgress]
	Withdraw            statement.Of[withdraw]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, planted.Statements(queries), "query", name.SQL)
	return s, err
}

// byIndex is for lists that are read outside of a transaction of ours.
func byIndex(r *run) pipeline.ByIndex { return pipeline.ByIndex{Sender: r.pool} }

// What statements take.

type announce struct {
	Name, Kind, Version, ConfigHash string

	Settings []byte
}

type withdraw struct{ Name string }

type seenWithin struct{ SeenSeconds float64 }

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
