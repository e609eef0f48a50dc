package retention

import (
	"embed"

	"github.com/hooklatch/hooklatch/outbox/planted"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Announce            statement.Of[announce]
	SettingsOfProcesses statement.Of[seenWithin]
	Withdraw            statement.Of[withdraw]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, planted.Statements(queries), "query", name.SQL)
	return s, err
}

// What statements take.

type announce struct {
	Name, Kind, Version, ConfigHash string

	Settings []byte
}

type withdraw struct{ Name string }

type seenWithin struct{ SeenSeconds float64 }
