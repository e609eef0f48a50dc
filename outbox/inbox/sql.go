package inbox

import (
	"embed"
	"encoding/json"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	DropEvent      statement.Of[dropEvent]
	Event          statement.Of[identity.EventRef]
	EventReplays   statement.Of[identity.EventRef]
	EventRows      statement.Of[askedEvents]
	Events         statement.Of[askedEvents]
	ExportedEvents statement.Of[exportedEvents]
	ImportKeys     statement.Of[importKeys]
	NewestEvent    statement.Bound
	ReleaseEvent   statement.Of[identity.EventRef]
	ReplayEvent    statement.Of[replayEvent]
	RestoreEvent   statement.Of[restoreEvent]
	RestoreOutcome statement.Of[restoreOutcome]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// The arguments of the statements.

type askedEvents struct{ Asked []identity.EventRef }

type exportedEvents struct{ Asked []byte }

// exportedRows are the rows of an exported event, as JSON objects.
type exportedRows struct {
	Event    json.RawMessage `json:"event"`
	Delivery json.RawMessage `json:"delivery"`
}

type dropEvent struct {
	identity.EventRef

	Error string
}

type replayEvent struct {
	identity.EventRef

	NewKeys     bool
	Route       string
	RequestedBy string
	Reason      string
	RunID       *int64
}

// restoreOutcome has the event's row as a JSON object.
type restoreOutcome struct {
	identity.EventRef

	Event []byte
}

// restoreEvent holds the rows of an exported event as JSON objects, and the delivery's body.
type restoreEvent struct {
	identity.EventRef

	Event, Delivery, Body []byte
}
