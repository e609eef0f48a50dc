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
	accept           string
	canCommit        string
	contentGuard     string
	contentGuards    string
	countReplayable  string
	dropEvent        string
	event            string
	eventReplays     string
	eventsWithoutJob string
	failDispatch     string
	fence            string
	forgetSenderKeys string
	keepSenderKeys   string
	knownEvents      string
	listEvents       string
	makePartitions   string
	noteDuplicates   string
	overview         string
	releaseEvent     string
	replayEvent      string
	replayGuard      string
	replayable       string
	senderKeys       string
	tryLock          string
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	for file, text := range map[string]*string{
		"accept":             &s.accept,
		"can_commit":         &s.canCommit,
		"content_guard":      &s.contentGuard,
		"content_guards":     &s.contentGuards,
		"count_replayable":   &s.countReplayable,
		"drop_event":         &s.dropEvent,
		"event":              &s.event,
		"event_replays":      &s.eventReplays,
		"events_without_job": &s.eventsWithoutJob,
		"fail_dispatch":      &s.failDispatch,
		"fence":              &s.fence,
		"forget_sender_keys": &s.forgetSenderKeys,
		"keep_sender_keys":   &s.keepSenderKeys,
		"known_events":       &s.knownEvents,
		"list_events":        &s.listEvents,
		"make_partitions":    &s.makePartitions,
		"note_duplicates":    &s.noteDuplicates,
		"overview":           &s.overview,
		"release_event":      &s.releaseEvent,
		"replay_event":       &s.replayEvent,
		"replay_guard":       &s.replayGuard,
		"replayable":         &s.replayable,
		"sender_keys":        &s.senderKeys,
		"try_lock":           &s.tryLock,
	} {
		content, err := queries.ReadFile("query/" + file + ".sql")
		if err != nil {
			return statements{}, fmt.Errorf("load statement: %w", err)
		}
		*text = name.SQL(string(content))
	}
	return s, nil
}
