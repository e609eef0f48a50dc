package worker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// A queue is polled at the shortest interval of its destinations, or at the default interval if one
// of them sets none. A process fetches one job for each slot, and half as many more.
func TestQueuesAreAskedAsOftenAsTheirDestinationsWant(t *testing.T) {
	t.Parallel()
	destinations := []DestinationOptions{
		{Name: "mail", Queue: "dst_mail", Concurrency: 10},
		{Name: "alerts:mail", Queue: "alerts", Concurrency: 10, PollEvery: 5 * time.Second},
		{Name: "alerts:chat", Queue: "alerts", Concurrency: 3, PollEvery: 7 * time.Second},
		{Name: "slow", Queue: "both", Concurrency: 1, PollEvery: time.Minute},
		{Name: "usual", Queue: "both", Concurrency: 1},
	}
	queues := riverQueues(Options{Destinations: destinations, DispatchWorkers: 8}, nil)
	require.Equal(t, map[string]river.QueueConfig{
		"dispatch": {MaxWorkers: 8},
		"upkeep":   {MaxWorkers: upkeepWorkers, FetchPollInterval: upkeepPollInterval},
		"dst_mail": {MaxWorkers: 15},
		"alerts":   {MaxWorkers: 19, FetchPollInterval: 5 * time.Second},
		"both":     {MaxWorkers: 2},
	}, queues)
}

func TestQueueNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "dst_app", ownQueue("app"))
	require.Equal(t, "dst_my_app_2", ownQueue("my_app_2"))
	require.Regexp(t, `^dst_my_app_[0-9a-f]{8}$`, ownQueue("My App"))
	require.NotEqual(t, ownQueue("My App"), ownQueue("my-app"))
	long := ownQueue(fmt.Sprintf("%0100d", 7))
	require.LessOrEqual(t, len(long), riverjob.MaxQueueName)
	for _, name := range []string{"app", "My App", "-", "ü", "a__b", "x-", long} {
		require.True(t, riverjob.IsQueueName(ownQueue(name)), name)
	}

	few := make([]DestinationOptions, maxOwnQueues)
	for i := range few {
		few[i].Name = fmt.Sprint("d", i)
	}
	many := slices.Concat(few, []DestinationOptions{{Name: "more"}, {Name: "own", Queue: "own"}})
	assignQueues(few)
	require.Equal(t, "dst_d7", few[7].Queue)
	assignQueues(many)
	queues := map[string]bool{}
	for _, d := range many {
		require.True(t, riverjob.IsQueueName(d.Queue), d.Queue)
		queues[d.Queue] = true
	}
	require.LessOrEqual(t, len(queues), maxOwnQueues+1)
	require.Equal(t, "own", many[len(many)-1].Queue)
}
