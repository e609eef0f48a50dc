package model

// LeftOut are the places of the code that no step of the model bears the name of, with
// the reason: a whole transaction by its name, or one place.
func LeftOut() map[string]string {
	const noEffect = "it changes no event and no effect"
	return map[string]string{
		"accept.events_inserted": "nobody sees what a transaction did before its COMMIT: it is accept.begin",
		"dispatch_with_handlers": "it is dispatch, with the handlers' writes after the fence; a run that gets no answer ends as one that was killed",
		"event.drop":             "an event that a replay guard holds is in no worker's hands",
		"event.release":          "it is how a held event is accepted: from then on it is like any other",
		"destination.retire":     "it parks effects, as effect.park does",
		"end_jobs":               "a job of a parked effect changes nothing: its run would find it parked",
		"can_commit":             noEffect,
		"keep_sender_keys":       noEffect,
		"make_partitions":        noEffect,
		"note_duplicates":        noEffect,
		"register_destinations":  noEffect,
		"place_destinations":     "which queue a job waits in changes no event and no effect",
		"move_jobs":              "which queue a job waits in changes no event and no effect",
		"redirect_job":           "which queue a job waits in changes no event and no effect",
		"sync_pause":             "claims ask the destination, not the queue that is paused with it",
	}
}
