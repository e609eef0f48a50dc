package worker

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// maxOwnQueues is the maximum number of queues that assignQueues uses: each queue costs every
// process one poll a second and a share of notifications.
const maxOwnQueues = 32

// ownPrefix is the prefix of destination queue names.
const ownPrefix = "dst_"

// maxOwnName is the maximum length of a destination's name in the name of its queue. It leaves room
// for a hash: see riverjob.HashedQueue.
const maxOwnName = riverjob.MaxQueueName - len(ownPrefix) - 1 - 8

// plainName matches the names that are used in a queue name unchanged.
var plainName = regexp.MustCompile(`^[a-z0-9]+(?:_[a-z0-9]+)*$`)

// upkeepWorkers is enough for one job of each periodic kind of upkeep, for runsAtOnce bulk runs and
// for probesAtOnce probes. A process runs at most one job of each periodic kind.
const upkeepWorkers = 8 + runsAtOnce + probesAtOnce

// completionSlack is the time within which River usually stores a snooze.
const completionSlack = 100 * time.Millisecond

// snooze returns a snooze for a job, and arranges that the job's queue is woken in every process
// when the snooze ends.
func (w *Worker) snooze(queue string, wait time.Duration) error {
	time.AfterFunc(wait+completionSlack, func() { w.fleet.Wake(queue) })
	return river.JobSnooze(wait)
}

// assignQueues gives a queue to every destination that does not set one.
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

// ownQueue returns the name of a destination's own queue. The queue's name contains a hash if
// the destination's name is longer than maxOwnName or does not match plainName.
func ownQueue(name string) string {
	if len(name) <= maxOwnName && plainName.MatchString(name) {
		return ownPrefix + name
	}
	return riverjob.HashedQueue(ownPrefix, name)
}

// sharedQueue returns the name of a destination's shared queue. The queue depends only on the
// destination's name, so no destination moves to another shared queue when other destinations are
// added or removed.
func sharedQueue(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("dst_shared_%02d", sum[0]%maxOwnQueues)
}

// dispatchesAll reports whether a program with this number of handlers also takes events without
// handlers: see riverQueues.
func dispatchesAll(o Options, handlers int) bool { return handlers == 0 || len(o.Routes) > 0 }

// riverQueues returns the queues from which this process takes jobs. Only processes with handlers
// for a source take jobs from that source's handler queue. A program that has only handlers leaves
// all other events to the processes with routes, because it would skip them. A process with neither
// routes nor handlers does dispatch events: it skips every event of its sources, as configured.
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
		queue.MaxWorkers = min(queue.MaxWorkers+d.limits().Jobs(), maxQueueWorkers)
		if !shared || d.PollEvery < queue.FetchPollInterval {
			queue.FetchPollInterval = d.PollEvery
		}
		queues[d.Queue] = queue
	}
	return queues
}
