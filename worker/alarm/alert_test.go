package alarm_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// healthy returns a busy system in which no alert fires, although many numbers are close to their
// thresholds.
func healthy() alarm.Facts {
	return alarm.Facts{
		Snapshot: &measure.Snapshot{
			Waiting: measure.Waiting{
				At: noon, DaysAhead: 3, Led: true,
				Effects:      []measure.Effects{{Destination: "app", State: "pending", Count: 7}},
				Due:          []measure.Since{{Name: "app", At: before(299 * time.Second)}},
				Undispatched: []measure.Events{{Source: "stripe", Count: 4, Since: before(299 * time.Second)}},
				Destinations: []measure.Destination{{Name: "app"}, {Name: "crm"}},
				LastAccepted: []measure.Since{{Name: "stripe", At: before(59 * time.Minute)}},
				Lists:        []measure.List{{Source: "github", CoveredUntil: before(time.Hour), Seconds: 259200, Failures: 2, Endpoint: "on", Listed: 1000}},
				Processes:    []measure.Process{{Name: "a", ConfigHash: "x"}, {Name: "b", ConfigHash: "x"}},
			},
			Standing: measure.Standing{
				Retention: []measure.Retention{{What: "events", Source: "stripe"}},
				Tables:    []measure.Table{{Name: "effects", Bytes: 79}},
				Usual:     []measure.Usual{{Source: "stripe", Accepted: 891, Duplicates: 109, Events: new(10.0), DuplicateRate: new(0.01)}},
			},
		},
		Recent: measure.Sums{
			measure.OfDestination: {"app": {measure.First: 100, measure.FirstFailed: 24}},
			measure.OfSource: {
				"stripe":        {measure.Accepted: 150, measure.Duplicate: 31, measure.Refused("wrong_signature"): 20},
				measure.Unknown: {measure.Refused("unknown_source"): 5000},
			},
		},
		SizeBudget: 100,
	}
}

// sick lists the conditions by name: the subject, a change that makes the alert fire, and a similar
// change that does not, or nil.
var sick = map[string]struct {
	of   string
	make func(f *alarm.Facts)
	less func(f *alarm.Facts)
}{
	"first_attempts_fail": {"app", func(f *alarm.Facts) {
		f.Recent[measure.OfDestination]["app"][measure.FirstFailed] = 25
	}, func(f *alarm.Facts) {
		f.Recent[measure.OfDestination]["app"] = map[measure.What]int64{measure.First: 19, measure.FirstFailed: 19}
	}},
	"effects_late": {"app", func(f *alarm.Facts) {
		f.Due[0].At = before(5 * time.Minute)
	}, func(f *alarm.Facts) {
		f.Due[0].At = before(5 * time.Minute)
		f.Destinations[0].Paused = true // an operator's decision
	}},
	"events_late": {"stripe", func(f *alarm.Facts) {
		f.Undispatched[0].Since = before(5 * time.Minute)
	}, nil},
	"breaker_open": {"crm", func(f *alarm.Facts) {
		f.Destinations[1].Broken, f.Destinations[1].OpenedAt = true, new(before(time.Hour))
	}, func(f *alarm.Facts) {
		f.Destinations[1].Broken, f.Destinations[1].Paused = true, true
	}},
	"no_worker":             {"", func(f *alarm.Facts) { f.Led = false }, nil},
	"at_most_once_withheld": {"", func(f *alarm.Facts) { f.Withheld = true }, nil},
	"partitions_missing":    {"", func(f *alarm.Facts) { f.DaysAhead = 2 }, nil},
	"attempts_abandoned": {"app", func(f *alarm.Facts) {
		f.Recent[measure.OfDestination]["app"][measure.Abandoned] = 1
	}, nil},
	"source_silent": {"stripe", func(f *alarm.Facts) {
		f.LastAccepted[0].At = before(time.Hour)
	}, func(f *alarm.Facts) {
		f.LastAccepted[0].At, f.Usual[0].Events = before(time.Hour), new(9.5)
	}},
	"known_sender_refused": {"stripe", func(f *alarm.Facts) {
		f.Quarantine = []measure.Quarantine{{Source: "stripe", Count: 9, OfKnown: 3, OfKnownSince: new(before(time.Hour))}}
	}, func(f *alarm.Facts) {
		f.Quarantine = []measure.Quarantine{{Source: "stripe", Count: 9, OfKnown: 2, OfKnownSince: new(before(time.Hour))}}
	}},
	"refusals": {"stripe", func(f *alarm.Facts) {
		f.Recent[measure.OfSource]["stripe"][measure.Refused("old_timestamp")] = 1
	}, func(f *alarm.Facts) {
		f.Recent[measure.OfSource]["stripe"] = map[measure.What]int64{measure.Accepted: 1, measure.Refused("wrong_signature"): 19}
	}},
	"effects_parked": {"crm", func(f *alarm.Facts) {
		f.Effects = append(f.Effects, measure.Effects{Destination: "crm", State: "parked", Count: 1, Since: new(before(time.Hour))})
	}, nil},
	"effects_failed": {"crm", func(f *alarm.Facts) {
		f.Effects = append(f.Effects, measure.Effects{Destination: "crm", State: "failed", Count: 3, Since: new(before(time.Hour))})
	}, nil},
	"events_failed": {"stripe", func(f *alarm.Facts) {
		f.EventsAside = []measure.EventsAside{{Source: "stripe", State: "failed", Count: 1, Since: before(time.Hour)}}
	}, nil},
	"events_held": {"stripe", func(f *alarm.Facts) {
		f.EventsAside = []measure.EventsAside{{Source: "stripe", State: "held", Count: 1, Since: before(time.Hour)}}
	}, nil},
	"events_skipped": {"github", func(f *alarm.Facts) {
		f.Skipped = append(f.Skipped, measure.SkippedEvents{Source: "github", Count: 1, Since: before(time.Minute), Dispatched: 7, DispatchedBefore: 1})
	}, func(f *alarm.Facts) {
		f.Skipped = append(f.Skipped,
			measure.SkippedEvents{Source: "github", Count: 100, Since: before(time.Minute), Dispatched: 1, CountBefore: 1, DispatchedBefore: 100},
			measure.SkippedEvents{Source: "gitlab", Count: 19, Since: before(time.Minute), CountBefore: 1, DispatchedBefore: 100},
			measure.SkippedEvents{Source: "new", Count: 100, Since: before(time.Minute)})
	}},
	"events_missed": {"github", func(f *alarm.Facts) {
		f.Lists[0].Recovered, f.Lists[0].Oldest = 2, new(before(time.Hour))
	}, nil},
	"events_missed_often": {"github", func(f *alarm.Facts) {
		f.Lists[0].Lost = 1
	}, nil},
	"list_behind": {"github", func(f *alarm.Facts) {
		f.Lists[0].CoveredUntil = before(60 * time.Hour)
	}, func(f *alarm.Facts) {
		f.Lists[0].CoveredUntil, f.Lists[0].Seconds = before(1000*time.Hour), 0 // the provider does not state its listing period
	}},
	"list_unreadable": {"github", func(f *alarm.Facts) { f.Lists[0].Failures = 3 }, func(f *alarm.Facts) { f.Lists[0].Failures = 2 }},
	"endpoint_off": {"github", func(f *alarm.Facts) {
		f.Lists[0].Endpoint, f.Lists[0].OffSince = "off", new(before(time.Hour))
	}, nil},
	"retention_stopped": {"events of stripe", func(f *alarm.Facts) {
		f.Retention[0].StoppedSince = new(before(time.Hour))
	}, nil},
	"size_budget": {"", func(f *alarm.Facts) { f.Tables[0].Bytes = 80 }, func(f *alarm.Facts) {
		f.Tables[0].Bytes, f.SizeBudget = 1e15, 0 // no size budget is set
	}},
	"cell_away":          {"payments", func(f *alarm.Facts) { f.Away = []string{"payments"} }, nil},
	"two_configurations": {"", func(f *alarm.Facts) { f.Processes[0].ConfigHash = "y" }, nil},
	"duplicates": {"stripe", func(f *alarm.Facts) {
		f.Usual[0].Accepted, f.Usual[0].Duplicates = 890, 110
	}, func(f *alarm.Facts) {
		f.Usual[0].Accepted, f.Usual[0].Duplicates = 0, 49 // too few to judge
	}},
}

func TestWhatNeedsAPersonIsFound(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, alarm.Names(), slices.Collect(maps.Keys(sick)))
	require.Empty(t, alarm.Judge(healthy()))
	for name, of := range sick {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := healthy()
			of.make(&f)
			found := alarm.Judge(f)
			require.Len(t, found, 1)
			require.Equal(t, name, found[0].Name)
			require.Equal(t, of.of, found[0].Subject)
			require.NotEmpty(t, found[0].Message)
			require.Contains(t, found[0].Command, "hooklatch ")
			if of.less != nil {
				f := healthy()
				of.less(&f)
				require.Empty(t, alarm.Judge(f))
			}
		})
	}
}

// A pass that only reports events moves the watermark past them. The command therefore names the
// time from which to fetch events.
func TestEventsThatAreOnlyReportedCanBeFetched(t *testing.T) {
	t.Parallel()
	f := healthy()
	f.Lists[0].Reported, f.Lists[0].Oldest = 5, new(before(20*time.Minute))
	found := alarm.Judge(f)
	require.Len(t, found, 1)
	require.Equal(t, "hooklatch backfill github --since 2026-11-23T11:40:00Z", found[0].Command)
}

// Messages use the singular for one thing, and the plural for two things.
func TestOneThingIsCountedInTheSingular(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64][]string{
		1: {
			"app is behind: 1 effect waiting, the oldest due for 5 min", "stripe: 1 event waiting to be dispatched, the oldest for 5 min", "crm is down: 1 effect waiting",
			"deliveries can be stored for only 1 more day", "github: 1 event skipped in the last hour because no route matched; in the day before, 2 had a route and 0 were skipped",
			"1 attempt at app was abandoned in the last 10 minutes: the call did not return within its timeout plus 5 seconds",
			"1 effect to crm is parked: retry or cancel", "1 event of stripe is held as a suspected replay",
			"1 event of github was not delivered by a webhook but is in the provider's list",
		},
		2: {
			"app is behind: 2 effects waiting, the oldest due for 5 min", "stripe: 2 events waiting to be dispatched, the oldest for 5 min", "crm is down: 2 effects waiting",
			"deliveries can be stored for only 2 more days", "github: 2 events skipped in the last hour because no route matched; in the day before, 2 had a route and 0 were skipped",
			"2 attempts at app were abandoned in the last 10 minutes: the call did not return within its timeout plus 5 seconds",
			"2 effects to crm are parked: retry or cancel", "2 events of stripe are held as suspected replays",
			"2 events of github were not delivered by a webhook but are in the provider's list",
		},
	} {
		f := healthy()
		f.DaysAhead = int(n)
		f.Due[0].At, f.Undispatched[0].Since, f.Undispatched[0].Count = before(5*time.Minute), before(5*time.Minute), n
		f.Effects = []measure.Effects{
			{Destination: "app", State: "pending", Count: n}, {Destination: "crm", State: "pending", Count: n},
			{Destination: "crm", State: "parked", Count: n, Since: new(before(time.Hour))},
		}
		f.Destinations[1].Broken = true
		f.Skipped = []measure.SkippedEvents{{Source: "github", Count: n, DispatchedBefore: 2, Dispatched: 7}}
		f.Recent[measure.OfDestination]["app"][measure.Abandoned] = n
		f.EventsAside = []measure.EventsAside{{Source: "stripe", State: "held", Count: n}}
		f.Lists[0].Recovered = n
		var messages []string
		for _, found := range alarm.Judge(f) {
			messages = append(messages, found.Message)
		}
		require.ElementsMatch(t, want, messages)
	}
	f := healthy()
	f.DaysAhead = -1
	require.Equal(t, "deliveries cannot be stored: today's partition is missing", alarm.Judge(f)[0].Message)
	f = healthy()
	f.Skipped = []measure.SkippedEvents{{Source: "github", Count: 100, DispatchedBefore: 1, CountBefore: 1}}
	require.Equal(t, "github: 100 events skipped in the last hour because no route matched; in the day before, 1 had a route and 1 was skipped", alarm.Judge(f)[0].Message)
}

func TestEventsAsideAreCountedInASentence(t *testing.T) {
	t.Parallel()
	f := healthy()
	for _, of := range []measure.EventsAside{{Source: "one", Count: 1}, {Source: "three", Count: 3}} {
		for _, of.State = range []string{"failed", "held"} {
			f.EventsAside = append(f.EventsAside, of)
		}
	}
	var messages []string
	for _, found := range alarm.Judge(f) {
		messages = append(messages, found.Message)
	}
	require.ElementsMatch(t, []string{
		"1 event of one could not be dispatched", "3 events of three could not be dispatched",
		"1 event of one is held as a suspected replay", "3 events of three are held as suspected replays",
	}, messages)
}

func TestTheMostUrgentComesFirst(t *testing.T) {
	t.Parallel()
	f := healthy()
	for _, of := range sick {
		of.make(&f)
	}
	var order []alarm.Severity
	for _, found := range alarm.Judge(f) {
		if len(order) == 0 || order[len(order)-1] != found.Severity {
			order = append(order, found.Severity)
		}
	}
	require.Equal(t, []alarm.Severity{alarm.Page, alarm.Ticket, alarm.Notice}, order)
}

// Processes have different configurations during a rollout, so the alert is sent only after 15
// minutes.
func TestTwoConfigurationsMayBeThereForAWhile(t *testing.T) {
	t.Parallel()
	f := healthy()
	sick["two_configurations"].make(&f)
	require.Equal(t, 15*time.Minute, alarm.Judge(f)[0].For)
}
