package measure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func read(t *testing.T) *measure.Snapshot {
	t.Helper()
	reader, err := measure.NewReader(waits(t), schema.Default)
	require.NoError(t, err)
	s, err := reader.Read(t.Context())
	require.NoError(t, err)
	return s
}

// ages returns the age of each time, rounded to minutes: a busy machine may read the snapshot some
// seconds late.
func ages(s *measure.Snapshot, of []measure.Since) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, one := range of {
		all[one.Name] = s.At.Sub(one.At).Round(time.Minute)
	}
	return all
}

func TestWhatWaitsIsCounted(t *testing.T) {
	t.Parallel()
	s := read(t)
	counts := map[string]int64{}
	for _, of := range s.Effects {
		counts[of.Destination+" "+of.State] = of.Count
		require.Equal(t, of.State == "failed" || of.State == "parked", of.Since != nil, "%+v", of)
		if of.State == "failed" {
			require.WithinDuration(t, s.At.Add(-57*time.Minute), *of.Since, 30*time.Second)
		}
	}
	require.Equal(t, map[string]int64{
		"crm pending": 300, "crm started": 2, "crm failed": 7, "crm parked": 3,
		"mail pending": 14, "mail started": 1,
	}, counts)
	require.Equal(t, map[string]time.Duration{"crm": time.Hour, "mail": 2 * time.Hour}, ages(s, s.Due))

	for _, of := range s.Undispatched {
		require.EqualValues(t, 20, of.Count)
		require.WithinDuration(t, s.At.Add(-time.Hour+30*time.Second), of.Since, 30*time.Second)
	}
	require.Len(t, s.Undispatched, 2)
	aside := map[string]int64{}
	for _, of := range s.EventsAside {
		aside[of.Source+" "+of.State] = of.Count
	}
	require.Equal(t, map[string]int64{"github failed": 2, "github held": 3, "stripe failed": 2, "stripe held": 3}, aside)

	require.Equal(t, map[string]time.Duration{"stripe": time.Minute, "github": 3 * time.Hour}, ages(s, s.LastAccepted), "half a minute is rounded up")
	require.Len(t, s.Destinations, 3)
	require.True(t, s.Destinations[0].Paused)
	require.Equal(t, "they migrate", s.Destinations[0].PauseReason)
	require.True(t, s.Destinations[1].Broken)
	require.False(t, s.Destinations[2].Paused || s.Destinations[2].Broken)
	require.Len(t, s.Lists, 2)
	github, okta := s.Lists[0], s.Lists[1]
	require.Equal(t, []any{"github", 2, "answered 500", "off", "active: false"}, []any{github.Source, github.Failures, github.Error, github.Endpoint, github.Why})
	require.Equal(t, []int64{150, 2, 4, 1}, []int64{github.Listed, github.Recovered, github.Reported, github.Lost})
	require.WithinDuration(t, s.At.Add(-3*time.Hour), *github.OffSince, 30*time.Second)
	require.WithinDuration(t, s.At.Add(-5*time.Hour), *github.Oldest, 30*time.Second)
	slack, known := github.Slack(s.At)
	require.True(t, known)
	require.InDelta(t, (70 * time.Hour).Seconds(), slack.Seconds(), 10)
	_, known = okta.Slack(s.At)
	require.False(t, known)
	require.Nil(t, okta.Oldest)
	require.Len(t, s.Processes, 2, "the process that was not seen for three minutes is omitted")
	require.True(t, s.Led)
	require.False(t, s.Withheld)
	require.GreaterOrEqual(t, s.DaysAhead, 7)
	require.Positive(t, s.Took)
}

func TestWhatStandsIsRead(t *testing.T) {
	t.Parallel()
	s := read(t)
	require.Len(t, s.Quarantine, 1)
	require.EqualValues(t, 3, s.Quarantine[0].Count)
	require.EqualValues(t, 300, s.Quarantine[0].Bytes)
	require.EqualValues(t, 1, s.Quarantine[0].OfKnown, "two are from known senders, and one of these arrived before the last accepted delivery")
	require.NotNil(t, s.Quarantine[0].OfKnownSince)
	bytes, days := int64(8000), 1
	require.Equal(t, []measure.Table{{Name: "effects", Rows: 377, Bytes: 8192, BytesBefore: &bytes, Days: &days}}, s.Tables)
	require.Len(t, s.Retention, 2)
	for _, of := range s.Retention {
		require.Equal(t, of.What == "events", of.StoppedSince != nil)
	}
}

func TestTheUsualIsTheMedianOfTheSameHour(t *testing.T) {
	t.Parallel()
	s := read(t)
	slices.SortFunc(s.Usual, func(a, b measure.Usual) int { return strings.Compare(a.Source, b.Source) })
	require.Len(t, s.Usual, 2)
	github, stripe := s.Usual[0], s.Usual[1]
	require.EqualValues(t, 3, github.Duplicates)
	require.Zero(t, github.Accepted)
	require.Zero(t, *github.Events, "on three of five days no event arrived")
	require.Zero(t, *github.DuplicateRate)
	require.EqualValues(t, 60, stripe.Accepted)
	require.EqualValues(t, 20, stripe.Duplicates, "earlier duplicates are excluded")
	require.InDelta(t, 100, *stripe.Events, 1e-9)
	require.InDelta(t, 0.02, *stripe.DuplicateRate, 1e-9)
}

func TestNothingIsUsualAtFirst(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.last_seen (kind, name, what, seen_at) VALUES ('source', 'stripe', 'accepted', now())`)
	require.NoError(t, err)
	reader, err := measure.NewReader(pool, schema.Default)
	require.NoError(t, err)
	s, err := reader.Standing(t.Context())
	require.NoError(t, err)
	require.Equal(t, []measure.Usual{{Source: "stripe"}}, s.Usual)
}

// The number of counted rows is bounded for any amount of waiting work, and each destination gets
// its share.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	pool := waits(t)
	reader, err := measure.NewReader(pool, schema.Default)
	require.NoError(t, err)
	reader.Bound(100, 10)
	w, err := reader.Waiting(t.Context())
	require.NoError(t, err)
	counts := map[string]int64{}
	for _, of := range w.Effects {
		counts[of.Destination] += of.Count
		unfinished := of.State != "parked" && of.State != "failed"
		require.Equal(t, of.Destination == "crm" && unfinished, of.AtLeast, "%+v", of)
	}
	require.EqualValues(t, 15, counts["mail"], "all effects are counted: effects in orders have a separate share")
	require.EqualValues(t, 50+10, counts["crm"], "half of a hundred, and the failed and parked effects")
}
