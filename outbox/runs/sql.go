package runs

import (
	"embed"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	Advance      statement.Of[advance]
	Begin        statement.Of[begin]
	Claim        statement.Of[claim]
	End          statement.Of[end]
	Enqueue      statement.Bound
	Idle         statement.Bound
	LockRun      statement.Of[leased]
	Release      statement.Of[givenBack]
	RunOfRequest statement.Of[ofRequest]
	Runs         statement.Of[askedRuns]
	SetPace      statement.Of[setPace]
	StateOfRun   statement.Of[ofRun]
	Steer        statement.Of[steer]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// The arguments of the statements.

type ofRequest struct{ RequestID string }

type ofRun struct{ ID int64 }

type askedRuns struct {
	ID     int64 // 0: any run
	Before int64
	Limit  int
}

type begin struct {
	Name           string
	Action         ledger.Action
	Filter         json.RawMessage
	Most           int64
	PerSecond      float64
	Who, Role, Via string
	Reason         string
	RequestID      string
	Total          *int64
	Newer          bool
}

// leased is a run and the worker that holds its lease.
type leased struct {
	ID     int64
	Worker uuid.UUID
}

// givenBack is a run that its worker no longer holds. Error is the reason why the run could not
// continue. If Error is empty, the stored reason stays.
type givenBack struct {
	leased

	Error string
}

type claim struct {
	leased

	Actions      []ledger.Action
	LeaseSeconds float64
}

type advance struct {
	leased

	LeaseSeconds, RestSeconds    float64
	Place                        string
	Selected, Changed, Reopened  int64
	InDoubt, Unrendered, Unclear int64
	Came                         json.RawMessage
}

type end struct {
	leased

	State  State
	Error  string
	Filter json.RawMessage
}

type steer struct {
	ID     int64
	From   []State
	To     State
	Filter json.RawMessage // nil: unchanged
}

type setPace struct {
	ID        int64
	PerSecond float64
}
