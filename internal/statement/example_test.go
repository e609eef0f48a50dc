package statement_test

import (
	"fmt"
	"testing/fstest"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

// A misspelled name prevents a program from starting.
func ExampleLoad() {
	files := fstest.MapFS{
		"query/note_success.sql": {Data: []byte("UPDATE hooklatch.destinations SET succeeded_at = now() WHERE name = :destinations")},
	}
	type destination struct{ Destination string }
	var sql struct {
		NoteSuccess statement.Of[destination]
	}
	fmt.Println(statement.Load(&sql, files, "query", schema.Default.SQL))
	// Output:
	// load statements: query/note_success.sql: statement_test.destination: no field is the parameter :destinations, no parameter is the field Destination
}
