package ledger

import (
	"embed"
	"fmt"

	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query/*.sql
var queries embed.FS

// statements are the texts of query/*.sql for one schema.
type statements struct {
	announceWorker       string
	attemptOfClaim       string
	beginProbe           string
	cancelEffects        string
	claim                string
	closeBreaker         string
	countUnsuccessful    string
	createEffects        string
	createQueue          string
	databaseClock        string
	deliveryOf           string
	effectAttempts       string
	effectBody           string
	effectByKey          string
	effectTransitions    string
	effectsOfEvent       string
	effectsWithoutJob    string
	failProbe            string
	fixRequest           string
	keysOfEvent          string
	limitStatements      string
	listDestinations     string
	listEffects          string
	lockDestination      string
	lockEffect           string
	lockRequest          string
	logOperator          string
	moveJobs             string
	noteSuccess          string
	oldestDue            string
	operatorDid          string
	operatorLog          string
	orderHeads           string
	orderLock            string
	orderTryLock         string
	orderTurns           string
	parkEffects          string
	pauseOf              string
	placeDestinations    string
	queueOf              string
	redirectJob          string
	registerDestinations string
	renderEffects        string
	reopenEffects        string
	retireDestination    string
	selectEffects        string
	setPaused            string
	settle               string
	settledBefore        string
	supersede            string
	takeTokens           string
	tripBreaker          string
	unservedQueues       string
	waitingEffects       string
	waitsFor             string
	withdrawWorker       string
	wrongPauses          string
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	for file, text := range map[string]*string{
		"announce_worker":       &s.announceWorker,
		"attempt_of_claim":      &s.attemptOfClaim,
		"begin_probe":           &s.beginProbe,
		"cancel_effects":        &s.cancelEffects,
		"claim":                 &s.claim,
		"close_breaker":         &s.closeBreaker,
		"count_unsuccessful":    &s.countUnsuccessful,
		"create_effects":        &s.createEffects,
		"create_queue":          &s.createQueue,
		"database_clock":        &s.databaseClock,
		"delivery_of":           &s.deliveryOf,
		"effect_attempts":       &s.effectAttempts,
		"effect_body":           &s.effectBody,
		"effect_by_key":         &s.effectByKey,
		"effect_transitions":    &s.effectTransitions,
		"effects_of_event":      &s.effectsOfEvent,
		"effects_without_job":   &s.effectsWithoutJob,
		"fail_probe":            &s.failProbe,
		"fix_request":           &s.fixRequest,
		"keys_of_event":         &s.keysOfEvent,
		"limit_statements":      &s.limitStatements,
		"list_destinations":     &s.listDestinations,
		"list_effects":          &s.listEffects,
		"lock_destination":      &s.lockDestination,
		"lock_effect":           &s.lockEffect,
		"lock_request":          &s.lockRequest,
		"log_operator":          &s.logOperator,
		"move_jobs":             &s.moveJobs,
		"note_success":          &s.noteSuccess,
		"oldest_due":            &s.oldestDue,
		"operator_did":          &s.operatorDid,
		"operator_log":          &s.operatorLog,
		"order_heads":           &s.orderHeads,
		"order_lock":            &s.orderLock,
		"order_try_lock":        &s.orderTryLock,
		"order_turns":           &s.orderTurns,
		"park_effects":          &s.parkEffects,
		"pause_of":              &s.pauseOf,
		"place_destinations":    &s.placeDestinations,
		"queue_of":              &s.queueOf,
		"redirect_job":          &s.redirectJob,
		"register_destinations": &s.registerDestinations,
		"render_effects":        &s.renderEffects,
		"reopen_effects":        &s.reopenEffects,
		"retire_destination":    &s.retireDestination,
		"select_effects":        &s.selectEffects,
		"set_paused":            &s.setPaused,
		"settle":                &s.settle,
		"settled_before":        &s.settledBefore,
		"supersede":             &s.supersede,
		"take_tokens":           &s.takeTokens,
		"trip_breaker":          &s.tripBreaker,
		"unserved_queues":       &s.unservedQueues,
		"waiting_effects":       &s.waitingEffects,
		"waits_for":             &s.waitsFor,
		"withdraw_worker":       &s.withdrawWorker,
		"wrong_pauses":          &s.wrongPauses,
	} {
		content, err := queries.ReadFile("query/" + file + ".sql")
		if err != nil {
			return statements{}, fmt.Errorf("load statement: %w", err)
		}
		*text = name.SQL(string(content))
	}
	return s, nil
}
