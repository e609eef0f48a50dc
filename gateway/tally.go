package gateway

import (
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/minutes"
)

// tally counts by the minute what the metrics count for a source.
type tally struct {
	counts    *minutes.Counts // nil: nothing is counted
	source    string
	accepted  *minutes.Counter
	duplicate *minutes.Counter
	secrets   []*minutes.Counter // by place in the configuration
	answered  *minutes.Timer
}

func newTally(counts *minutes.Counts, source string, secrets int) tally {
	t := tally{
		counts: counts, source: source,
		accepted:  counts.Of(minutes.OfSource, source, minutes.Accepted),
		duplicate: counts.Of(minutes.OfSource, source, minutes.Duplicate),
		answered:  counts.Timer(minutes.OfSource, source),
	}
	for i := range secrets {
		t.secrets = append(t.secrets, counts.Of(minutes.OfSource, source, minutes.Secret(i+1)))
	}
	return t
}

// replied counts a request that was answered as its sender wanted.
func (t *tally) replied(events, duplicates int, took time.Duration) {
	t.answered.Add(took)
	if events > duplicates {
		t.accepted.Add(int64(events - duplicates))
	}
	if duplicates > 0 {
		t.duplicate.Add(int64(duplicates))
	}
}

// refused counts a request that was not.
func (t *tally) refused(reason string) {
	t.counts.Of(minutes.OfSource, t.source, minutes.Refused(reason)).Add(1)
}

// proven counts what is known once a request is proven: see meters.proven.
func (t *tally) proven(position int, retry provider.RetryInfo) {
	if position >= 0 && position < len(t.secrets) {
		t.secrets[position].Add(1)
	}
	if retry.Number > 0 {
		t.counts.Of(minutes.OfSource, t.source, minutes.Retried(retryReason(retry.Reason))).Add(1)
	}
}
