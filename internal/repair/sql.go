package repair

import (
	"embed"
	"time"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	Adopt           statement.Of[adopt]
	Around          statement.Of[around]
	AtMostOnce      statement.Bound
	BeginsAgain     statement.Bound
	CountDamage     statement.Bound
	FollowPromotion statement.Bound
	Sequences       statement.Bound
	SetSequence     statement.Of[setSequence]
	State           statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

type adopt struct{ RestoredTo *time.Time } // nil: nothing is missing

type setSequence struct {
	Name    string
	Highest int64
}

type around struct {
	RestoredTo time.Time
	Sources    []string
}
