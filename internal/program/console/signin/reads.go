package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/schema"
)

// Reads writes into the operator log who saw which payload.
type Reads struct {
	db  pipeline.ByIndex
	sql statements
}

// NewReads writes into the log of a database.
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

// Note writes down that a person saw something.
func (n *Reads) Note(ctx context.Context, p Person, target, requestID string) error {
	if _, err := n.sql.NoteRead.With(noteRead{p.Name, p.Role, target, requestID}).Exec(ctx, n.db); err != nil {
		return fmt.Errorf("note who saw a payload: %w", err)
	}
	return nil
}
