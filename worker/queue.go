package worker

import (
	"crypto/sha256"
	"fmt"
	"regexp"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// maxOwnQueues bounds the queues of destinations: each costs every process one
// poll a second and its share of notifications.
const maxOwnQueues = 32

// ownPrefix begins the queues of destinations.
const ownPrefix = "dst_"

// maxOwnName leaves room for a hash in a queue name that had to be changed.
const maxOwnName = riverjob.MaxQueueName - len(ownPrefix) - 1 - 8

// plainName matches the names that become part of a queue's name unchanged.
var plainName = regexp.MustCompile(`^[a-z0-9]+(?:_[a-z0-9]+)*$`)

// upkeepWorkers is enough for one job of each kind of upkeep, runsAtOnce, and some probes.
const upkeepWorkers = 10

// assignQueues gives a queue to every destination that names none.
func assignQueues(destinations []DestinationOptions) {
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

// ownQueue is the queue of one destination.
func ownQueue(name string) string {
	if len(name) <= maxOwnName && plainName.MatchString(name) {
		return ownPrefix + name
	}
	return riverjob.HashedQueue(ownPrefix, name)
}

// sharedQueue depends on nothing but the name, so that adding or removing a
// destination moves no other.
func sharedQueue(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("dst_shared_%02d", sum[0]%maxOwnQueues)
}

// dispatchesAll says whether a program with that many handlers takes events without
// handlers too: see riverQueues.
func dispatchesAll(o Options, handlers int) bool { return handlers == 0 || len(o.Routes) > 0 }

// riverQueues are the queues that this process works. Queues of handlers are left
// to the processes that have those handlers, and all other events by a program that
// only has handlers to those that have the routes: it would skip them. A process
// with neither is taken at its word: it wants nothing of any event.
func riverQueues(o Options, handlers []string) map[string]river.QueueConfig {
	queues := map[string]river.QueueConfig{riverjob.QueueUpkeep: {MaxWorkers: upkeepWorkers, FetchPollInterval: upkeepPollInterval}}
	if dispatchesAll(o, len(handlers)) {
		queues[riverjob.QueueDispatch] = river.QueueConfig{MaxWorkers: o.DispatchWorkers}
	}
	for _, queue := range handlers {
		queues[queue] = river.QueueConfig{MaxWorkers: o.HandlerWorkers}
	}
	for _, d := range o.Destinations {
		queue, shared := queues[d.Queue]
		queue.MaxWorkers = min(queue.MaxWorkers+d.limits().Workers(), maxQueueWorkers)
		if !shared || d.PollEvery < queue.FetchPollInterval {
			queue.FetchPollInterval = d.PollEvery
		}
		queues[d.Queue] = queue
	}
	return queues
}
