package worker

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

// A queue is asked for jobs as often as the most impatient of its destinations wants.
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
		"dst_mail": {MaxWorkers: 10},
		"alerts":   {MaxWorkers: 13, FetchPollInterval: 5 * time.Second},
		"both":     {MaxWorkers: 2},
	}, queues)
}
