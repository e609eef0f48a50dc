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

// ownPrefix begins the names of the queues of destinations.
const ownPrefix = "dst_"

// maxOwnName leaves room for a hash in a queue name that had to be changed.
const maxOwnName = riverjob.MaxQueueName - len(ownPrefix) - 1 - 8

// plainName matches the names that become part of a queue's name unchanged.
var plainName = regexp.MustCompile(`^[a-z0-9]+(?:_[a-z0-9]+)*$`)

// upkeepWorkers is enough for one job of each kind of upkeep, for runsAtOnce, and for some
// probes.
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

// ownQueue returns the queue of one destination.
func ownQueue(name string) string {
	if len(name) <= maxOwnName && plainName.MatchString(name) {
		return ownPrefix + name
	}
	return riverjob.HashedQueue(ownPrefix, name)
}

// sharedQueue returns a shared queue that depends only on the name, so that adding or removing
// a destination moves no other.
func sharedQueue(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("dst_shared_%02d", sum[0]%maxOwnQueues)
}

// dispatchesAll reports whether a program with that many handlers also takes events without
// handlers: see riverQueues.
func dispatchesAll(o Options, handlers int) bool { return handlers == 0 || len(o.Routes) > 0 }

// riverQueues returns the queues that this process works. Queues of handlers are left to the
// processes that have those handlers. A program that has only handlers leaves all other events
// to the processes that have the routes, because it would skip them. A process with neither
// does dispatch them: it skips every event, as configured.
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
