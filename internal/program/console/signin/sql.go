package signin

import (
	"embed"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements contains the texts of query/*.sql.
type statements struct {
	BeginLogin  statement.Of[beginLogin]
	DropLogins  statement.Of[dropLogins]
	EndLogin    statement.Of[ofLogin]
	EndLogins   statement.Of[ofPerson]
	EndLoginsOf statement.Of[ofName]
	FindLogin   statement.Of[findLogin]
	ListLogins  statement.Of[listLogins]
	NoteRead    statement.Of[noteRead]
	TouchLogin  statement.Of[touchLogin]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// Parameters of the statements.

type ofLogin struct{ Hash []byte }

type ofName struct{ Name string }

type listLogins struct{ IdleSeconds, LongestSeconds float64 }

type ofPerson struct {
	Name  string
	Way   Way
	Token string
}

type beginLogin struct {
	ofLogin
	ofPerson

	Role  Role
	Basis []byte
}

type findLogin struct {
	ofLogin

	TouchSeconds, IdleSeconds, LongestSeconds float64
}

type touchLogin struct {
	ofLogin

	TouchSeconds float64
}

type dropLogins struct {
	IdleSeconds float64
	Limit       int
}

type noteRead struct {
	Who       string
	Role      Role
	Target    string
	RequestID string
}
