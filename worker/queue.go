package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/outbox"
)

// maxOwnQueues bounds the queues of destinations: each costs every process one
// poll a second and its share of notifications.
const maxOwnQueues = 32

// maxQueueName is River's limit.
const maxQueueName = 64

// maxOwnName leaves room for a hash in a queue name that had to be changed.
const maxOwnName = maxQueueName - len("dst_") - 1 - 8

// upkeepWorkers is enough for one job of each kind of upkeep, and some probes.
const upkeepWorkers = 8

// queueName is River's grammar.
var queueName = regexp.MustCompile(`^[a-z0-9]+(?:[_|\-]?[a-z0-9]+)*$`)

var notInQueueName = regexp.MustCompile(`[^a-z0-9]+`)

func reservedQueue(name string) bool {
	return name == outbox.QueueDispatch || name == outbox.QueueHandlers || name == outbox.QueueUpkeep
}

// assignQueues gives a queue to every destination that asks for none.
func assignQueues(destinations []Destination) {
	own := 0
	for _, d := range destinations {
		if d.Queue == "" {
			own++
		}
	}
	for i := range destinations {
		d := &destinations[i]
		switch {
		case d.Queue != "":
		case own <= maxOwnQueues:
			d.Queue = ownQueue(d.Name)
		default:
			d.Queue = sharedQueue(d.Name)
		}
	}
}

// ownQueue is the queue of one destination. A name that had to be changed to
// fit River's grammar gets a hash, so that two names never become one queue by
// accident.
func ownQueue(name string) string {
	normal := strings.Trim(notInQueueName.ReplaceAllString(strings.ToLower(name), "_"), "_")
	if normal == name && len(name) <= maxOwnName {
		return "dst_" + name
	}
	sum := sha256.Sum256([]byte(name))
	normal = strings.Trim(normal[:min(len(normal), maxOwnName)], "_")
	if normal == "" {
		normal = "x"
	}
	return "dst_" + normal + "_" + hex.EncodeToString(sum[:4])
}

// sharedQueue depends on nothing but the name: another destination more or
// less moves none.
func sharedQueue(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("dst_shared_%02d", sum[0]%maxOwnQueues)
}

// riverQueues are the queues this process works. Without handlers it leaves
// the queue of those to processes that have them.
func riverQueues(o Options, handlers bool) map[string]river.QueueConfig {
	queues := map[string]river.QueueConfig{
		outbox.QueueDispatch: {MaxWorkers: o.DispatchWorkers},
		outbox.QueueUpkeep:   {MaxWorkers: upkeepWorkers},
	}
	if handlers {
		queues[outbox.QueueHandlers] = river.QueueConfig{MaxWorkers: o.HandlerWorkers}
	}
	for _, d := range o.Destinations {
		workers := queues[d.Queue].MaxWorkers + d.workers()
		queues[d.Queue] = river.QueueConfig{MaxWorkers: min(workers, maxQueueWorkers)}
	}
	return queues
}
