package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/schema"
)

// ActionRead is the action in the operator log for viewing or searching payloads.
const ActionRead = "payload.read"

// Reads records in the operator log which payloads users viewed or searched.
type Reads struct {
	db  pipeline.ByIndex
	sql statements
}

// NewReads returns the Reads for a database.
func NewReads(pool *pgxpool.Pool, name schema.Name) (*Reads, error) {
	if pool == nil {
		return nil, errors.New("reads: a pool is required")
	}
	sql, err := loadStatements(name.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("reads: %w", err)
	}
	return &Reads{db: pipeline.ByIndex{Sender: pool}, sql: sql}, nil
}

// Note records that a user viewed or searched the target. It records each user and target at most
// once an hour.
func (n *Reads) Note(ctx context.Context, p Person, target, requestID string) error {
	if _, err := n.sql.NoteRead.With(noteRead{p.Name, p.Role, target, requestID}).Exec(ctx, n.db); err != nil {
		return fmt.Errorf("record who viewed a payload: %w", err)
	}
	return nil
}
