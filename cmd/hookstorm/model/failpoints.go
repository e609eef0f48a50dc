package model

// LeftOut are the places of the code that no step of the model bears the name of, with
// the reason: a whole transaction by its name, or one place.
func LeftOut() map[string]string {
	const (
		noEffect  = "it changes no event and no effect"
		oneServer = "the database of the model never changes its server"
		ended     = "what it deletes has ended: nothing that the model knows begins with it any more"
		aDay      = "bodies and details of what has ended: no step reads them"
	)
	return map[string]string{
		"accept.events_inserted": "nobody sees what a transaction did before its COMMIT: it is accept.begin",
		"dispatch_with_handlers": "it is dispatch, with the handlers' writes after the fence; a run that gets no answer ends as one that was killed",
		"event.drop":             "an event that a replay guard holds is in no worker's hands",
		"event.release":          "it is how a held event is accepted: from then on it is like any other",
		"event.erase":            "what it takes away is finished, or given up as event.drop and effect.cancel do; a dispatch asks the event's outcome",
		"effect.erase":           "what it takes away is finished, or given up as effect.cancel does",
		"redact":                 "what it takes away is finished",
		"erase_jobs":             "a job of what is finished changes nothing",
		"destination.probe":      "it makes a destination's next probe due: claims ask the breaker, as ever",
		"destination.retire":     "it parks effects, as effect.park does",
		"keys.import":            "an event that is imported is in no worker's hands",
		"end_jobs":               "a job of a parked effect changes nothing: its run would find it parked",
		"alarm":                  "the effects it makes are like those of an application",
		"alert.mute":             noEffect,
		"logins.end":             noEffect,
		"can_commit":             noEffect,
		"can_store":              noEffect,
		"keep_sender_keys":       noEffect,
		"make_partitions":        noEffect,
		"note_duplicates":        noEffect,
		"note_retries":           noEffect,
		"keep_rejected":          noEffect,
		"known_addresses":        noEffect,
		"quarantine.drop":        noEffect,
		"quarantine.retry":       "what it takes out of the quarantine was accepted before, like any delivery",
		"register_destinations":  noEffect,
		"delete_contents":        ended,
		"delete_effects":         ended,
		"delete_events":          ended,
		"delete_guards":          ended,
		"delete_imports":         "what it deletes was never dispatched",
		"delete_kept_deliveries": aDay,
		"delete_kept_events":     ended,
		"delete_operations":      noEffect,
		"delete_replays":         ended,
		"delete_versions":        "what an object's newest version keeps from being applied is older than all that is kept",
		"detach_day":             aDay,
		"drop_day":               aDay,
		"keep_deliveries":        "it copies what unfinished work reads",
		"note_kept_deliveries":   noEffect,
		"read_needs":             noEffect,
		"record_retention":       noEffect,
		"retention.run":          noEffect,
		"stop_retention":         noEffect,
		"thin_day":               aDay,
		"place_destinations":     "which queue a job waits in changes no event and no effect",
		"move_jobs":              "which queue a job waits in changes no event and no effect",
		"redirect_job":           "which queue a job waits in changes no event and no effect",
		"follow_promotion":       oneServer,
		"repair.enqueue":         "it records who ordered what reconcile did",
		"repair.promoted":        oneServer,
		"repair.restored":        oneServer,
		"run.end":                noEffect,
		"run.enqueue":            noEffect,
		"run.pace":               noEffect,
		"run.pause":              noEffect,
		"run.resume":             noEffect,
		"run.step":               "it does to each what an order about one does, and what it sets going is like it",
		"run.stop":               noEffect,
		"sync_pause":             "claims ask the destination, not the queue that is paused with it",
	}
}
