package quarantine

import (
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	CountRejected  statement.Of[selection]
	ExpireRejected statement.Bound
	KeepRejected   statement.Of[keepRejected]
	KnownAddresses statement.Bound
	ListRejected   statement.Of[listRejected]
	LockQuarantine statement.Bound
	NextRejected   statement.Of[nextRejected]
	NoteAddresses  statement.Of[noteAddresses]
	OnwardRejected statement.Of[nextRejected]
	RemoveRejected statement.Of[removeRejected]
	TidyAddresses  statement.Of[tidyAddresses]
	TrimRejected   statement.Of[trimRejected]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// The arguments of the statements.

// selection is a Filter. Zero values select all.
type selection struct {
	ID     *uuid.UUID
	Source identity.Source
	Reason string
	Until  *time.Time
}

func selectionOf(f Filter) selection {
	s := selection{Source: f.Source, Reason: f.Reason, Until: column.TimeOrNull(f.Until)}
	if f.ID != uuid.Nil {
		s.ID = &f.ID
	}
	return s
}

type listRejected struct {
	selection

	Limit int
}

type nextRejected struct {
	selection

	AfterAt *time.Time // NULL: from the first delivery
	AfterID uuid.UUID
	Limit   int
}

type rejectionID struct{ RejectionID uuid.UUID }

type removeRejected struct{ Asked []rejectionID }

// secretsJSON encodes the column secrets.
func secretsJSON(sealed map[string][]string) ([]byte, error) {
	text, err := json.Marshal(sealed)
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	return text, nil
}
