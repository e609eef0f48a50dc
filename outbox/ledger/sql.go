package ledger

import (
	"embed"
	"fmt"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/statement"
)

//go:embed query/*.sql
var queries embed.FS

// named are the texts whose parameters have names.
type named struct {
	Claim                statement.Of[claimArgs]
	CreateEffects        statement.Of[createEffects]
	OrderHeads           statement.Of[inOrders]
	OrderLock            statement.Of[inOrders]
	OrderTryLock         statement.Of[inOrders]
	OrderTurns           statement.Of[orderTurns]
	QueueOf              statement.Of[ofDestination]
	RegisterDestinations statement.Of[registerDestinations]
	RenderEffects        statement.Of[renderEffects]
	Settle               statement.Of[settleArgs]
	SettledBefore        statement.Of[settledBefore]
	Supersede            statement.Of[supersede]
}

//go:embed query/claim.sql query/create_effects.sql query/order_heads.sql query/order_lock.sql query/order_try_lock.sql query/order_turns.sql query/queue_of.sql query/register_destinations.sql query/render_effects.sql query/settle.sql query/settled_before.sql query/supersede.sql
var namedQueries embed.FS

// statements are the texts of query/*.sql for one schema.
type statements struct {
	named
	positional
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	var err error
	if s.positional, err = loadPositional(name); err != nil {
		return s, err
	}
	err = statement.Load(&s.named, namedQueries, "query", name.SQL)
	return s, err
}

// positional are the texts whose parameters have no names yet.
type positional struct {
	announceWorker    string
	attemptOfClaim    string
	beginProbe        string
	cancelEffects     string
	closeBreaker      string
	countUnsuccessful string
	createQueue       string
	databaseClock     string
	deliveryOf        string
	effectAttempts    string
	effectBody        string
	effectByKey       string
	effectTransitions string
	effectsOfEvent    string
	effectsWithoutJob string
	failProbe         string
	fixRequest        string
	keysOfEvent       string
	limitStatements   string
	listDestinations  string
	listEffects       string
	lockDestination   string
	lockEffect        string
	lockRequest       string
	logOperator       string
	moveJobs          string
	noteSuccess       string
	oldestDue         string
	operatorDid       string
	operatorLog       string
	parkEffects       string
	pauseOf           string
	placeDestinations string
	redirectJob       string
	reopenEffects     string
	retireDestination string
	selectEffects     string
	setPaused         string
	takeTokens        string
	tripBreaker       string
	unservedQueues    string
	waitingEffects    string
	waitsFor          string
	withdrawWorker    string
	wrongPauses       string
}

func loadPositional(name schema.Name) (positional, error) {
	var s positional
	for file, text := range map[string]*string{
		"announce_worker":     &s.announceWorker,
		"attempt_of_claim":    &s.attemptOfClaim,
		"begin_probe":         &s.beginProbe,
		"cancel_effects":      &s.cancelEffects,
		"close_breaker":       &s.closeBreaker,
		"count_unsuccessful":  &s.countUnsuccessful,
		"create_queue":        &s.createQueue,
		"database_clock":      &s.databaseClock,
		"delivery_of":         &s.deliveryOf,
		"effect_attempts":     &s.effectAttempts,
		"effect_body":         &s.effectBody,
		"effect_by_key":       &s.effectByKey,
		"effect_transitions":  &s.effectTransitions,
		"effects_of_event":    &s.effectsOfEvent,
		"effects_without_job": &s.effectsWithoutJob,
		"fail_probe":          &s.failProbe,
		"fix_request":         &s.fixRequest,
		"keys_of_event":       &s.keysOfEvent,
		"limit_statements":    &s.limitStatements,
		"list_destinations":   &s.listDestinations,
		"list_effects":        &s.listEffects,
		"lock_destination":    &s.lockDestination,
		"lock_effect":         &s.lockEffect,
		"lock_request":        &s.lockRequest,
		"log_operator":        &s.logOperator,
		"move_jobs":           &s.moveJobs,
		"note_success":        &s.noteSuccess,
		"oldest_due":          &s.oldestDue,
		"operator_did":        &s.operatorDid,
		"operator_log":        &s.operatorLog,
		"park_effects":        &s.parkEffects,
		"pause_of":            &s.pauseOf,
		"place_destinations":  &s.placeDestinations,
		"redirect_job":        &s.redirectJob,
		"reopen_effects":      &s.reopenEffects,
		"retire_destination":  &s.retireDestination,
		"select_effects":      &s.selectEffects,
		"set_paused":          &s.setPaused,
		"take_tokens":         &s.takeTokens,
		"trip_breaker":        &s.tripBreaker,
		"unserved_queues":     &s.unservedQueues,
		"waiting_effects":     &s.waitingEffects,
		"waits_for":           &s.waitsFor,
		"withdraw_worker":     &s.withdrawWorker,
		"wrong_pauses":        &s.wrongPauses,
	} {
		content, err := queries.ReadFile("query/" + file + ".sql")
		if err != nil {
			return positional{}, fmt.Errorf("load statement: %w", err)
		}
		*text = name.SQL(string(content))
	}
	return s, nil
}

type ofDestination struct{ Destination string }
