package minutes

import (
	"embed"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	AddCounts    statement.Of[addCounts]
	ByHour       statement.Of[byHour]
	DropHours    statement.Of[dropCounts]
	DropLastSeen statement.Of[keptFor]
	DropMinutes  statement.Of[dropCounts]
	DropSizes    statement.Of[keptFor]
	LastSeen     statement.Of[lastSeen]
	MeasureSizes statement.Bound
	NoteSeen     statement.Of[addCounts]
	Recent       statement.Of[recent]
	RecentOf     statement.Of[recentOf]
	SumHours     statement.Of[sumHours]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// What statements take.

type countRow struct {
	SecondsAgo float64 // of the beginning of its minute
	Kind       string
	Name       string
	What       string
	N          int64
}

type addCounts struct{ Added []countRow }

type byHour struct {
	Kind  Kind
	Hours int
	Whats []What
}

type lastSeen struct {
	Kind Kind
	Name string
}

type recent struct{ WindowSeconds float64 }

type recentOf struct {
	recent
	lastSeen
}

type sumHours struct{ AgainSeconds float64 }

type keptFor struct{ KeptSeconds float64 }

type dropCounts struct {
	keptFor

	Limit int
}
