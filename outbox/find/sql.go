package find

import (
	"embed"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	ActionSlice       statement.Of[actionSlice]
	Actions           statement.Of[actions]
	DeliveryReceived  statement.Of[deliveryReceived]
	EffectSlice       statement.Of[effectSlice]
	EffectSliceOnward statement.Of[effectSliceOnward]
	EventPlace        statement.Of[eventPlace]
	EventSlice        statement.Of[eventSlice]
	EventSliceOnward  statement.Of[eventSliceOnward]
	EventsOfDelivery  statement.Of[eventsOfDelivery]
	EventsOfValue     statement.Of[eventsOfValue]
	Holding           statement.Of[holding]
	Sources           statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// Arguments of statements.

type actionSlice struct {
	Who         string
	Action      ledger.Action
	Target      string
	Since       *time.Time
	BeforeTime  *time.Time // nil: start at the newest row
	BeforeID    int64
	Look, Limit int
}

type actions struct{ IDs []int64 }

type deliveryReceived struct{ DeliveryID uuid.UUID }

type effectSlice struct {
	effectsAskedFor

	BeforeTime  *time.Time // nil: start at the newest row
	BeforeKey   string
	Look, Limit int
}

type effectSliceOnward struct {
	effectsAskedFor

	AfterTime            time.Time
	AfterKey             string
	Until, FinishedUntil time.Time
	Look, Limit          int
}

type eventPlace struct{ At time.Time }

type eventSlice struct {
	askedFor

	Before, DownTo int64 // values of accept_seq
	Look, Limit    int
}

type eventsOfDelivery struct {
	DeliveryID    uuid.UUID
	After, Before int64 // accept_seq
	Limit         int
}

type eventsOfValue struct {
	Value   string
	Sources []identity.Source
	Limit   int
}

type eventSliceOnward struct {
	askedFor

	After, UpTo          int64    // accept_seq
	SettlesInSeconds     *float64 // nil: do not wait for uncommitted events
	Unerased, Unredacted bool
	Look, Limit          int
}
