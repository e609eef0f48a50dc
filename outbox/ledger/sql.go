package ledger

import (
	"embed"

	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements holds the statements in query/*.sql.
type statements struct {
	AttemptOfClaim      statement.Of[attemptOfClaim]
	Claim               statement.Of[claimArgs]
	CreateEffects       statement.Of[createEffects]
	DatabaseClock       statement.Bound
	DeliveriesOf        statement.Of[deliveriesOf]
	DeliveryOf          statement.Of[identity.EventRef]
	EffectAttempts      statement.Of[identity.EffectID]
	EffectBody          statement.Of[identity.EffectID]
	EffectByKey         statement.Of[effectByKey]
	EffectRows          statement.Of[askedEffects]
	EffectTransitions   statement.Of[identity.EffectID]
	EffectsOfEvent      statement.Of[identity.EventRef]
	EffectsWithoutJob   statement.Of[withoutJob]
	FixRequest          statement.Of[fixRequest]
	KeysOfEvent         statement.Of[keysOfEvent]
	KnownLinks          statement.Of[knownLinks]
	LimitStatements     statement.Of[limitStatements]
	LockCause           statement.Of[identity.EventRef]
	LockEffect          statement.Of[identity.EffectID]
	LockRequest         statement.Of[lockRequest]
	LogOperator         statement.Of[logOperator]
	OldestDue           statement.Of[ofDestination]
	OldestDueInOrders   statement.Of[oldestDueInOrders]
	OperatorDid         statement.Of[operatorDid]
	OperatorLog         statement.Of[operatorLog]
	OrderHeads          statement.Of[inOrders]
	OrderLock           statement.Of[inOrders]
	OrderTryLock        statement.Of[inOrders]
	OrderTurns          statement.Of[orderTurns]
	OrdersWithoutJob    statement.Of[ordersWithoutJob]
	OverdueDestinations statement.Bound
	PutAside            statement.Of[putAside]
	QueueOf             statement.Of[ofDestination]
	RecallEffects       statement.Of[recallEffects]
	RenderEffects       statement.Of[renderEffects]
	ReopenEffects       statement.Of[orderedEffects]
	Resends             statement.Of[resendsOf]
	Settle              statement.Of[settleArgs]
	SettledBefore       statement.Of[settledBefore]
	StatesOfEffects     statement.Of[askedEvents]
	Supersede           statement.Of[supersede]
	WaitForStandby      statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL, rule.Fragments())
	return s, err
}

// recallEffects has one argument: a JSON array of rows.
type recallEffects struct{ Effects []byte }
