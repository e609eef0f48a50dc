package outbox

import (
	"embed"
	"fmt"

	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query/*.sql
var queries embed.FS

// statements are the texts of query/*.sql for one schema.
type statements struct {
	accept               string
	canCommit            string
	claim                string
	contentGuard         string
	contentGuards        string
	createEffects        string
	deliveryOf           string
	event                string
	eventsWithoutJob     string
	effectsWithoutJob    string
	failDispatch         string
	fence                string
	knownEvents          string
	makePartitions       string
	noteDuplicates       string
	overview             string
	noteSuccess          string
	countUnsuccessful    string
	queueOf              string
	replayGuard          string
	registerDestinations string
	settle               string
	settledBefore        string
	tryLock              string

	effectAttempts string
	effectBody     string
	effectByKey    string
	effectsOfEvent string
	listEffects    string
	listEvents     string
	replayEvent    string
	releaseEvent   string
	dropEvent      string
	reopenEffects  string
	cancelEffects  string

	orderLock         string
	orderTryLock      string
	orderHeads        string
	orderTurns        string
	supersede         string
	renderEffects     string
	parkEffects       string
	fixRequest        string
	limitStatements   string
	countReplayable   string
	replayable        string
	lockEffect        string
	attemptOfClaim    string
	takeTokens        string
	tripBreaker       string
	beginProbe        string
	failProbe         string
	closeBreaker      string
	setPaused         string
	lockDestination   string
	pauseOf           string
	wrongPauses       string
	createQueue       string
	listDestinations  string
	oldestDue         string
	effectTransitions string

	logOperator   string
	lockRequest   string
	operatorDid   string
	operatorLog   string
	eventReplays  string
	selectEffects string
	keysOfEvent   string
	databaseClock string

	senderKeys       string
	keepSenderKeys   string
	forgetSenderKeys string

	announceWorker    string
	withdrawWorker    string
	placeDestinations string
	unservedQueues    string
	moveJobs          string
	redirectJob       string
	waitingEffects    string
	waitsFor          string
	retireDestination string
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	for file, text := range map[string]*string{
		"accept":                &s.accept,
		"can_commit":            &s.canCommit,
		"cancel_effects":        &s.cancelEffects,
		"claim":                 &s.claim,
		"content_guard":         &s.contentGuard,
		"content_guards":        &s.contentGuards,
		"create_effects":        &s.createEffects,
		"delivery_of":           &s.deliveryOf,
		"effect_attempts":       &s.effectAttempts,
		"effect_body":           &s.effectBody,
		"effect_by_key":         &s.effectByKey,
		"effects_of_event":      &s.effectsOfEvent,
		"effects_without_job":   &s.effectsWithoutJob,
		"event":                 &s.event,
		"events_without_job":    &s.eventsWithoutJob,
		"fail_dispatch":         &s.failDispatch,
		"fence":                 &s.fence,
		"known_events":          &s.knownEvents,
		"list_effects":          &s.listEffects,
		"list_events":           &s.listEvents,
		"make_partitions":       &s.makePartitions,
		"note_duplicates":       &s.noteDuplicates,
		"overview":              &s.overview,
		"note_success":          &s.noteSuccess,
		"count_unsuccessful":    &s.countUnsuccessful,
		"queue_of":              &s.queueOf,
		"replay_guard":          &s.replayGuard,
		"register_destinations": &s.registerDestinations,
		"reopen_effects":        &s.reopenEffects,
		"replay_event":          &s.replayEvent,
		"release_event":         &s.releaseEvent,
		"drop_event":            &s.dropEvent,
		"settle":                &s.settle,
		"settled_before":        &s.settledBefore,
		"try_lock":              &s.tryLock,
		"order_lock":            &s.orderLock,
		"order_try_lock":        &s.orderTryLock,
		"order_heads":           &s.orderHeads,
		"order_turns":           &s.orderTurns,
		"supersede":             &s.supersede,
		"render_effects":        &s.renderEffects,
		"park_effects":          &s.parkEffects,
		"fix_request":           &s.fixRequest,
		"limit_statements":      &s.limitStatements,
		"count_replayable":      &s.countReplayable,
		"replayable":            &s.replayable,
		"lock_effect":           &s.lockEffect,
		"attempt_of_claim":      &s.attemptOfClaim,
		"take_tokens":           &s.takeTokens,
		"trip_breaker":          &s.tripBreaker,
		"begin_probe":           &s.beginProbe,
		"fail_probe":            &s.failProbe,
		"close_breaker":         &s.closeBreaker,
		"set_paused":            &s.setPaused,
		"lock_destination":      &s.lockDestination,
		"pause_of":              &s.pauseOf,
		"wrong_pauses":          &s.wrongPauses,
		"create_queue":          &s.createQueue,
		"list_destinations":     &s.listDestinations,
		"oldest_due":            &s.oldestDue,
		"effect_transitions":    &s.effectTransitions,
		"log_operator":          &s.logOperator,
		"lock_request":          &s.lockRequest,
		"operator_did":          &s.operatorDid,
		"operator_log":          &s.operatorLog,
		"event_replays":         &s.eventReplays,
		"select_effects":        &s.selectEffects,
		"keys_of_event":         &s.keysOfEvent,
		"database_clock":        &s.databaseClock,
		"sender_keys":           &s.senderKeys,
		"keep_sender_keys":      &s.keepSenderKeys,
		"forget_sender_keys":    &s.forgetSenderKeys,
		"announce_worker":       &s.announceWorker,
		"withdraw_worker":       &s.withdrawWorker,
		"place_destinations":    &s.placeDestinations,
		"unserved_queues":       &s.unservedQueues,
		"move_jobs":             &s.moveJobs,
		"redirect_job":          &s.redirectJob,
		"waiting_effects":       &s.waitingEffects,
		"waits_for":             &s.waitsFor,
		"retire_destination":    &s.retireDestination,
	} {
		content, err := queries.ReadFile("query/" + file + ".sql")
		if err != nil {
			return statements{}, fmt.Errorf("load statement: %w", err)
		}
		*text = name.SQL(string(content))
	}
	return s, nil
}
