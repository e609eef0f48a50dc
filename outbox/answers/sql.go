package answers

import (
	"embed"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Attempts statement.Of[attempts]
	Waiting  statement.Of[waiting]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// What statements take.

type attempts struct {
	Destination   string
	Newest        int // of all destinations
	Aside         int // of this one in each state
	Said          int // bytes of an error
	WindowSeconds float64
}

type waiting struct {
	Destination string
	Most        int
}
