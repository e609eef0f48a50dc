package schema

import (
	"embed"

	"github.com/hooklatch/hooklatch/internal/statement"
)

//go:embed query/*.sql
var queryFiles embed.FS

// statements contains the SQL statements in query/*.sql, with the types of their arguments.
type statements struct {
	AsideEffects        statement.Bound
	History             statement.Bound
	HistoryAdd          statement.Of[historyAdd]
	HistoryCreate       statement.Bound
	HistoryDrop         statement.Bound
	HistoryExists       statement.Bound
	HistoryRemove       statement.Of[historyRemove]
	Lock                statement.Bound
	PartitionsAhead     statement.Bound
	PartitionsExist     statement.Bound
	PartitionsMake      statement.Of[partitionsMake]
	PutAsideEffects     statement.Bound
	PutAsideEvents      statement.Bound
	PutAsideStands      statement.Of[putAsideStands]
	RiverExists         statement.Bound
	RiverIndexesDrop    statement.Bound
	RiverIndexesRestore statement.Bound
	RiverJobExists      statement.Bound
	RiverVersion        statement.Bound
	SchemaExists        statement.Of[schemaExists]
	SessionTimeouts     statement.Of[sessionTimeouts]
	Timeouts            statement.Of[timeouts]
	WireKeyDrop         statement.Bound
	WireKeyLock         statement.Bound
	WireKeyMake         statement.Bound
	WireKeyNotUnique    statement.Bound
	WireKeyStands       statement.Bound
	WireKeyUnlock       statement.Bound
	WireKeyWasUnique    statement.Bound
}

type historyAdd struct {
	Version        int
	Name, Checksum string
}

type historyRemove struct{ Version int }

type partitionsMake struct{ DaysAhead int }

type putAsideStands struct{ Name string }

type schemaExists struct{ Name string }

type timeouts struct{ LockTimeout string } // milliseconds

type sessionTimeouts struct{ LockTimeout string } // milliseconds

func loadStatements(name Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queryFiles, "query", name.SQL)
	return s, err
}
