package riverjob

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// These queues exist in every deployment. Each destination and each source with handlers has an
// additional queue.
const (
	QueueDispatch = "dispatch" // events whose source has no handlers
	QueueUpkeep   = "upkeep"   // periodic jobs and bulk runs
	// QueueHandlers held the events of all sources with handlers before each source had a
	// queue. It is still processed.
	QueueHandlers = "handlers"
)

// MaxQueueName is River's limit for a queue name.
const MaxQueueName = 64

const (
	handlersPrefix = QueueHandlers + "-"
	asidePrefix    = "aside-"
	queueHashLen   = 4 // bytes; the hexadecimal text is twice as long
)

var (
	// queueName matches River's grammar for queue names.
	queueName      = regexp.MustCompile(`^[a-z0-9]+(?:[_|\-]?[a-z0-9]+)*$`)
	notInQueueName = regexp.MustCompile(`[^a-z0-9]+`)
)

// ControlTopic returns the topic that notifies River's clients of a schema when a queue is
// paused or resumed, as {"action": "pause", "queue": "..."}.
func ControlTopic(name schema.Name) string { return string(name) + ".river_control" }

// IsQueueName reports whether River accepts a queue name.
func IsQueueName(name string) bool { return len(name) <= MaxQueueName && queueName.MatchString(name) }

// HandlersQueue returns the queue for events from a source with handlers. Programs without
// handlers for that source do not process the queue.
func HandlersQueue(source identity.Source) string {
	if queue := handlersPrefix + string(source); IsQueueName(queue) {
		return queue
	}
	return HashedQueue(handlersPrefix, string(source))
}

// IsHandlersQueue reports whether the queue holds events that wait for handlers.
func IsHandlersQueue(queue string) bool {
	return queue == QueueHandlers || strings.HasPrefix(queue, handlersPrefix)
}

// AsideQueue returns the queue for a destination's jobs that cannot start now. No worker
// processes this queue, so any number of jobs may wait there at no cost.
func AsideQueue(destination string) string {
	if queue := asidePrefix + destination; IsQueueName(queue) {
		return queue
	}
	return HashedQueue(asidePrefix, destination)
}

// IsAsideQueue reports whether the queue holds jobs that were set aside.
func IsAsideQueue(queue string) bool { return strings.HasPrefix(queue, asidePrefix) }

// IsReservedQueue reports whether a queue must not be used by a destination.
func IsReservedQueue(queue string) bool {
	return queue == QueueDispatch || queue == QueueUpkeep || IsHandlersQueue(queue) || IsAsideQueue(queue)
}

// HashedQueue builds a queue name from a name that is not valid by itself. The result contains the
// characters that River accepts, and a hash, so that two names do not accidentally become one
// queue.
func HashedQueue(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	fits := strings.Trim(notInQueueName.ReplaceAllString(strings.ToLower(name), "_"), "_")
	fits = strings.Trim(fits[:min(len(fits), MaxQueueName-len(prefix)-1-2*queueHashLen)], "_")
	if fits == "" {
		fits = "x"
	}
	return prefix + fits + "_" + hex.EncodeToString(sum[:queueHashLen])
}
