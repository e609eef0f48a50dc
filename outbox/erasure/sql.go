package erasure

import (
	"embed"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	BeginRedaction  statement.Of[beginRedaction]
	BlotDelivery    statement.Of[blotDelivery]
	CopiesOfEvent   statement.Of[identity.EventRef]
	EffectsOfEvents statement.Of[ofEvents]
	EmptyDelivery   statement.Of[emptyDelivery]
	ErasedByRun     statement.Of[ofRun]
	EraseEffect     statement.Of[eraseEffect]
	EraseEvent      statement.Of[eraseEvent]
	EraseJobs       statement.Of[eraseJobs]
	GiveUpEvent     statement.Of[identity.EventRef]
	LockEffect      statement.Of[identity.EffectID]
	ItemsOfDelivery statement.Of[firstOfDelivery]
	LockEvent       statement.Of[identity.EventRef]
	MadeEffects     statement.Of[identity.EventRef]
	NoteWaiting     statement.Of[identity.EventRef]
	NotWaiting      statement.Of[identity.EventRef]
	Redactable      statement.Of[redactable]
	SetProgress     statement.Of[setProgress]
	StoredDelivery  statement.Of[deliveryOf]
	StoredEffects   statement.Of[storedEffects]
	StoredItems     statement.Of[storedItems]
	Waiting         statement.Of[waiting]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// Arguments of statements.

type ofRun struct{ Run int64 }

type ofEvents struct{ Events []identity.EventRef }

type deliveryOf struct {
	DeliveryID uuid.UUID
	ReceivedAt time.Time
}

// firstOfDelivery identifies a delivery and one of its events.
type firstOfDelivery struct {
	deliveryOf

	AcceptSeq int64
}

type emptyDelivery struct {
	deliveryOf

	Source identity.Source
}

// blotKind selects the text that replaces a value.
type blotKind string

const (
	blotItem blotKind = "item" // null
	blotJSON blotKind = "json" // "redacted"
	blotForm blotKind = "form" // redacted
)

type blotDelivery struct {
	deliveryOf

	Was             []byte // SHA-256 of the body
	Starts, Lengths []int
	Kind            blotKind
}

type eraseEvent struct {
	identity.EventRef

	Note      string
	Redacting bool
}

type eraseEffect struct {
	identity.EffectID

	Note string
}

type storedItems struct {
	deliveryOf

	Events []identity.EventRef
}

type storedEffects struct {
	identity.EventRef

	AcceptSeq int64
	Effects   []storedEffect
}

// storedEffect is an effect and its effect_id.
type storedEffect struct {
	identity.EffectID

	RowID int64
}

type eraseJobs struct {
	Events  []identity.EventRef
	Effects []identity.EffectID
	After   int64
	Limit   int
}

type redactable struct {
	Source       identity.Source
	After        int64 // accept_seq of the last event read
	AfterSeconds float64
	Limit        int
}

type beginRedaction struct {
	Source identity.Source
	Rules  string
}

type setProgress struct {
	Source    identity.Source
	Rules     string
	AcceptSeq int64
}

type waiting struct {
	Source identity.Source
	After  identity.EventID
	Limit  int
}
