package quarantine

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	ExpireRejected statement.Bound
	KeepRejected   statement.Of[keepRejected]
	KnownAddresses statement.Bound
	LockQuarantine statement.Bound
	NoteAddresses  statement.Of[noteAddresses]
	TidyAddresses  statement.Of[tidyAddresses]
	TrimRejected   statement.Of[trimRejected]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// What statements take.

// secretsJSON is the column secrets.
func secretsJSON(sealed map[string][]string) ([]byte, error) {
	text, err := json.Marshal(sealed)
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	return text, nil
}
