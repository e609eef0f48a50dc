package gateway

import (
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// tally counts outcomes per source and minute. The metrics count the same outcomes.
type tally struct {
	counts    *measure.Counts // nil counts nothing
	source    string
	accepted  *measure.Counter
	duplicate *measure.Counter
	secrets   []*measure.Counter // by position in the configuration
	answered  *measure.Timer
}

func newTally(counts *measure.Counts, source string, secrets []Secret) tally {
	t := tally{
		counts: counts, source: source,
		accepted:  counts.Of(measure.OfSource, source, measure.Accepted),
		duplicate: counts.Of(measure.OfSource, source, measure.Duplicate),
		answered:  counts.Timer(measure.OfSource, source),
	}
	for _, s := range secrets {
		t.secrets = append(t.secrets, counts.Of(measure.OfSource, source, measure.Secret(s.Value.Mark(source))))
	}
	return t
}

// replied counts a request that was not refused.
func (t *tally) replied(events, duplicates int, took time.Duration) {
	t.answered.Add(took)
	if events > duplicates {
		t.accepted.Add(int64(events - duplicates))
	}
	if duplicates > 0 {
		t.duplicate.Add(int64(duplicates))
	}
}

// refused counts a refused request by its reason.
func (t *tally) refused(reason string) {
	t.counts.Of(measure.OfSource, t.source, measure.Refused(reason)).Add(1)
}

// proven counts the facts that are known once a request is verified: see meters.proven.
func (t *tally) proven(position int, retry provider.RetryInfo) {
	if position >= 0 && position < len(t.secrets) {
		t.secrets[position].Add(1)
	}
	if retry.Number > 0 {
		t.counts.Of(measure.OfSource, t.source, measure.Retried(retryReason(retry.Reason))).Add(1)
	}
}
