package browse

import (
	"embed"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	EffectSlice statement.Of[effectSlice]
	Holding     statement.Of[holding]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// What statements take.

type effectSlice struct {
	State              ledger.EffectState
	Destination, Route string
	Source             identity.Source
	EventType          string
	Since              *time.Time
	BeforeTime         *time.Time // nil: from the newest on
	BeforeKey          string
	Look, Limit        int
}
