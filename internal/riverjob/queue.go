package riverjob

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// The queues of every deployment, besides one for each destination and one for each
// source with handlers.
const (
	QueueDispatch = "dispatch" // events whose source has no handlers
	QueueUpkeep   = "upkeep"   // periodic jobs
	// QueueHandlers contained the events of all sources with handlers, before each source
	// had a queue. It is still processed.
	QueueHandlers = "handlers"
)

// MaxQueueName is River's limit for the name of a queue.
const MaxQueueName = 64

const (
	handlersPrefix = QueueHandlers + "-"
	asidePrefix    = "aside-"
	queueHashLen   = 4 // bytes, in hexadecimal twice as long
)

var (
	// queueName is River's grammar.
	queueName      = regexp.MustCompile(`^[a-z0-9]+(?:[_|\-]?[a-z0-9]+)*$`)
	notInQueueName = regexp.MustCompile(`[^a-z0-9]+`)
)

// ControlTopic is the topic that notifies River's clients of a schema when a queue is
// paused or resumed, as {"action": "pause", "queue": "..."}.
func ControlTopic(name schema.Name) string { return string(name) + ".river_control" }

// IsQueueName reports whether River accepts the name of a queue.
func IsQueueName(name string) bool { return len(name) <= MaxQueueName && queueName.MatchString(name) }

// HandlersQueue returns the queue of events whose source has handlers. Programs with
// handlers of other sources do not process it.
func HandlersQueue(source identity.Source) string {
	if queue := handlersPrefix + string(source); IsQueueName(queue) {
		return queue
	}
	return HashedQueue(handlersPrefix, string(source))
}

// IsHandlersQueue reports whether the queue contains events that wait for handlers.
func IsHandlersQueue(queue string) bool {
	return queue == QueueHandlers || strings.HasPrefix(queue, handlersPrefix)
}

// AsideQueue returns the queue for a destination's jobs that cannot start now. No process
// works it, so any number of jobs may wait there at no cost.
func AsideQueue(destination string) string {
	if queue := asidePrefix + destination; IsQueueName(queue) {
		return queue
	}
	return HashedQueue(asidePrefix, destination)
}

// IsReservedQueue reports whether no destination may use the queue.
func IsReservedQueue(queue string) bool {
	return queue == QueueDispatch || queue == QueueUpkeep || IsHandlersQueue(queue) || strings.HasPrefix(queue, asidePrefix)
}

// HashedQueue makes a queue name from a name that is not valid as it is: the characters
// that River accepts, and a hash, so that two names do not become one queue by accident.
func HashedQueue(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	fits := strings.Trim(notInQueueName.ReplaceAllString(strings.ToLower(name), "_"), "_")
	fits = strings.Trim(fits[:min(len(fits), MaxQueueName-len(prefix)-1-2*queueHashLen)], "_")
	if fits == "" {
		fits = "x"
	}
	return prefix + fits + "_" + hex.EncodeToString(sum[:queueHashLen])
}
