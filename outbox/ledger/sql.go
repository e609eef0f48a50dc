package ledger

import (
	"embed"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	AnnounceWorker       statement.Of[announceWorker]
	AttemptOfClaim       statement.Of[attemptOfClaim]
	BeginProbe           statement.Of[beginProbe]
	Claim                statement.Of[claimArgs]
	CloseBreaker         statement.Of[ofDestination]
	CountUnsuccessful    statement.Bound
	CreateEffects        statement.Of[createEffects]
	CreateQueue          statement.Of[createQueue]
	DatabaseClock        statement.Bound
	DeliveryOf           statement.Of[identity.EventRef]
	EffectAttempts       statement.Of[identity.EffectID]
	EffectBody           statement.Of[identity.EffectID]
	EffectByKey          statement.Of[effectByKey]
	EffectTransitions    statement.Of[identity.EffectID]
	EffectsOfEvent       statement.Of[identity.EventRef]
	EffectsWithoutJob    statement.Of[effectsWithoutJob]
	FailProbe            statement.Of[openBreaker]
	FixRequest           statement.Of[fixRequest]
	KeysOfEvent          statement.Of[identity.EventRef]
	LimitStatements      statement.Of[limitStatements]
	ListDestinations     statement.Of[seenWithin]
	ListEffects          statement.Of[listEffects]
	LockDestination      statement.Of[ofDestination]
	LockEffect           statement.Of[identity.EffectID]
	LockRequest          statement.Of[lockRequest]
	LogOperator          statement.Of[logOperator]
	MoveJobs             statement.Of[moveJobs]
	NoteSuccess          statement.Of[noteSuccess]
	OldestDue            statement.Of[ofDestination]
	OperatorDid          statement.Of[operatorDid]
	OperatorLog          statement.Of[operatorLog]
	OrderHeads           statement.Of[inOrders]
	OrderLock            statement.Of[inOrders]
	OrderTryLock         statement.Of[inOrders]
	OrderTurns           statement.Of[orderTurns]
	PauseOf              statement.Of[ofDestination]
	PlaceDestinations    statement.Of[seenWithin]
	PutAside             statement.Of[putAside]
	QueueOf              statement.Of[ofDestination]
	RedirectJob          statement.Of[redirectJob]
	RegisterDestinations statement.Of[registerDestinations]
	RenderEffects        statement.Of[renderEffects]
	ReopenEffects        statement.Of[orderedEffects]
	RetireDestination    statement.Of[retireDestination]
	SelectEffects        statement.Of[selectEffects]
	SetPaused            statement.Of[setPaused]
	Settle               statement.Of[settleArgs]
	SettledBefore        statement.Of[settledBefore]
	Supersede            statement.Of[supersede]
	TakeTokens           statement.Of[takeTokens]
	TripBreaker          statement.Of[openBreaker]
	UnservedQueues       statement.Of[seenWithin]
	WaitingEffects       statement.Bound
	WaitsFor             statement.Of[ofDestination]
	WithdrawWorker       statement.Of[withdrawWorker]
	WrongPauses          statement.Bound
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}
