// Package moves transfers a source from one cell to another. The command cells move carries out the
// move, and processes ask which of the two cells stores the source's events.
//
// The new cell receives everything by which the old cell recognises duplicates: the ids of events,
// guards, keys of effects, and versions of objects. The old cell keeps its events and finishes
// their effects. Triggers in the old database note what is written during the move, and refuse
// events of the source once it is fenced. The triggers also apply to processes that know nothing of
// the move.
package moves

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	Abandon             statement.Of[beginLeaving]
	Arrive              statement.Of[moveArgs]
	BeginArriving       statement.Of[beginArriving]
	BeginLeaving        statement.Of[beginLeaving]
	BeginTable          statement.Of[tableArgs]
	CancelEffects       statement.Of[cancelEffects]
	DropRows            statement.Of[notedRows]
	EndTable            statement.Of[tableArgs]
	Fence               statement.Of[fenceArgs]
	ForgetRows          statement.Of[forgetRows]
	ForgetSeen          statement.Of[sourceArgs]
	Leave               statement.Of[moveArgs]
	LockAbandoned       statement.Of[sourceArgs]
	LockMove            statement.Of[sourceArgs]
	NotedRows           statement.Of[notedRows]
	NoteProgress        statement.Of[noteProgress]
	PageContentGuards   statement.Of[pageArgs]
	PageEffects         statement.Of[pageArgs]
	PageObjectVersions  statement.Of[pageArgs]
	PageProcessedEvents statement.Of[pageArgs]
	PageReplayGuards    statement.Of[pageArgs]
	PutContentGuards    statement.Of[putArgs]
	PutEffects          statement.Of[putArgs]
	PutObjectVersions   statement.Of[putVersions]
	PutProcessedEvents  statement.Of[putArgs]
	PutReplayGuards     statement.Of[putArgs]
	PutRest             statement.Of[putVersions]
	Rest                statement.Of[sourceArgs]
	States              statement.Of[statesArgs]
	Unready             statement.Of[sourceArgs]
}

type (
	sourceArgs    struct{ Source identity.Source }
	statesArgs    struct{ Sources []string }
	beginArriving struct {
		Source   identity.Source
		MoveID   uuid.UUID
		FromCell string
	}
	beginLeaving struct {
		Source identity.Source
		ToCell string
	}
	tableArgs struct {
		Source    identity.Source
		TableName string
	}
	moveArgs struct {
		Source identity.Source
		MoveID uuid.UUID
	}
	fenceArgs struct {
		Source    identity.Source
		FenceSecs float64
	}
	noteProgress struct {
		Source    identity.Source
		MoveID    uuid.UUID
		TableName string
		Position  string
	}
	notedRows struct {
		Source identity.Source
		Limit  int
	}
	forgetRows struct {
		Source identity.Source
		IDs    []int64
	}
	pageArgs struct {
		Source identity.Source
		After  string
		Limit  int
	}
	putArgs struct {
		Source   identity.Source
		Contents string
	}
	putVersions   struct{ Contents string }
	cancelEffects struct {
		FromCell string
		Contents string
	}
)

// Options configure a Moves.
type Options struct {
	// DB commits the rows of a move. Required.
	DB *commit.DB
	// ReadPool reads the rows of a move, on the same database. Required.
	ReadPool *pgxpool.Pool
	// Ledger records the move. Required.
	Ledger *ledger.Ledger
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
}

// Moves is one cell's part in moves of sources. It is safe for concurrent use.
type Moves struct {
	opts Options
	sql  statements
}

// New returns the Moves of a migrated database.
func New(opts Options) (*Moves, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Ledger == nil {
		return nil, errors.New("moves options: DB, ReadPool and Ledger are required")
	}
	m := &Moves{opts: opts}
	if err := statement.Load(&m.sql, queries, "query", opts.Schema.OrDefault().SQL); err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	return m, nil
}

// State is one cell's record of where a source's events are stored.
type State struct {
	ToCell   string // the cell to which the source moves or has moved; empty: the source does not leave this cell
	Left     bool   // true if the cell ToCell stores the source's events
	FromCell string // the cell from which the source comes or came; empty: the source does not come from another cell
	Arrived  bool   // true if this cell stores the source's events, unless Left is true
}

// States returns the states of the given sources, by source. It omits sources for which no move has
// begun.
func (m *Moves) States(ctx context.Context, sources []string) (map[string]State, error) {
	rows, err := m.sql.States.With(statesArgs{Sources: sources}).Query(ctx, pipeline.ByIndex{Sender: m.opts.ReadPool})
	if err != nil {
		return nil, fmt.Errorf("read moves of sources: %w", err)
	}
	states := map[string]State{}
	var source string
	var s State
	if _, err := pgx.ForEachRow(rows, []any{&source, &s.ToCell, &s.Left, &s.FromCell, &s.Arrived}, func() error {
		states[source] = s
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read moves of sources: %w", err)
	}
	return states, nil
}

// Refused reports whether an event was refused because its source moves to another cell.
func Refused(err error) bool {
	pg, ok := sqlstate.Of(err)
	return ok && pg.Code == sqlstate.NotInPrerequisiteState && pg.TableName == "source_moves"
}
