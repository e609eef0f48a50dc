package alarm

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// Thresholds of the conditions. The Prometheus rules use the same values.
const (
	// Window is the period of Facts.Recent.
	Window = 10 * time.Minute
	// fewAttempts is the minimum number of first attempts, or of refused requests, for a condition
	// that depends on a rate.
	fewAttempts = 20
	// failedShare is the first-attempt failure rate at which a destination counts as failing.
	failedShare = 0.25
	// refusedShare is the share of refused requests at which a source counts as misconfigured.
	refusedShare = 0.1
	// refusedInARow is the number of consecutive refused deliveries from known senders after which
	// the source's secret counts as wrong.
	refusedInARow = 3
	// lateAfter is the time after which due work counts as late.
	lateAfter = 5 * time.Minute
	// silentAfter is the maximum time that a busy source may be silent. A source is busy if it
	// usually sends at least talksFrom events in this hour of the day.
	silentAfter = time.Hour
	talksFrom   = 10
	// A duplicate rate is a spike if it is at least duplicatesTimes the usual rate and at least
	// duplicatesMore above it.
	duplicatesTimes = 3
	duplicatesMore  = 0.1
	// fewDays is the number of days ahead that must have partitions. A worker creates 14.
	fewDays = 3
	// budgetShare is the share of its budget at which the database counts as too large.
	budgetShare = 0.8
	// Webhooks count as frequently missed if at least missedFrom events, and more than missedShare
	// of the listed events, were not delivered by a webhook.
	missedShare = 0.01
	missedFrom  = 3
	// slackShare is the minimum remaining share of a provider's listing period. If less remains,
	// unfetched events are about to disappear from the list.
	slackShare = 0.25
	// failedPasses is the number of consecutive failed passes after which a list counts as
	// unreadable.
	failedPasses = 3
	// differFor is the maximum time that processes may have different configurations. A rollout is
	// shorter.
	differFor = 15 * time.Minute
)

// condition is a named check, with the severity of the alerts that it finds.
type condition struct {
	name     string
	severity Severity
	lasts    time.Duration // see Alert.For
	find     func(f Facts) []Alert
}

var conditions = []condition{
	{name: "first_attempts_fail", severity: Page, find: firstAttemptsFail},
	{name: "effects_late", severity: Page, find: effectsLate},
	{name: "events_late", severity: Page, find: eventsLate},
	{name: "breaker_open", severity: Page, find: breakerOpen},
	{name: "no_worker", severity: Page, find: noWorker},
	{name: "cell_away", severity: Page, find: cellAway},
	{name: "at_most_once_withheld", severity: Page, find: withheld},
	{name: "partitions_missing", severity: Page, find: partitionsMissing},
	{name: "endpoint_off", severity: Page, find: endpointOff},
	{name: "events_missed_often", severity: Page, find: missedOften},
	{name: "list_behind", severity: Page, find: listBehind},
	{name: "attempts_abandoned", severity: Ticket, find: attemptsAbandoned},
	{name: "source_silent", severity: Ticket, find: sourceSilent},
	{name: "known_sender_refused", severity: Ticket, find: knownSenderRefused},
	{name: "refusals", severity: Ticket, find: refusals},
	{name: "effects_parked", severity: Ticket, find: aside("parked", "is parked", "are parked")},
	{name: "effects_failed", severity: Ticket, find: aside("failed", "failed", "failed")},
	{name: "events_failed", severity: Ticket, find: eventsAside("failed", "could not be dispatched", "could not be dispatched", "hooklatch events replay --state failed --source %s")},
	{name: "events_held", severity: Ticket, find: eventsAside("held", "is held as a suspected replay", "are held as suspected replays", "hooklatch events list --state held --source %s")},
	{name: "events_skipped", severity: Ticket, find: eventsSkipped},
	{name: "retention_stopped", severity: Ticket, find: retentionStopped},
	{name: "events_missed", severity: Ticket, find: missed},
	{name: "list_unreadable", severity: Ticket, find: listUnreadable},
	{name: "size_budget", severity: Ticket, find: sizeBudget},
	{name: "two_configurations", severity: Ticket, lasts: differFor, find: twoConfigurations},
	{name: "duplicates", severity: Notice, find: duplicates},
}

// share returns the quotient of part and all. It returns false if all is less than fewAttempts.
func share(part, all int64) (float64, bool) {
	if all < fewAttempts {
		return 0, false
	}
	return float64(part) / float64(all), true
}

func firstAttemptsFail(f Facts) []Alert {
	var found []Alert
	for name, counts := range f.Recent[measure.OfDestination] {
		failed := counts[measure.FirstFailed]
		if of, enough := share(failed, counts[measure.First]); enough && of >= failedShare {
			found = append(found, Alert{
				Subject: name, Count: failed,
				Message: fmt.Sprintf("%s: %.0f %% of first attempts failed in the last 10 minutes (%d of %d)", name, 100*of, failed, counts[measure.First]),
				Command: "hooklatch effects list --destination " + name,
			})
		}
	}
	return found
}

func attemptsAbandoned(f Facts) []Alert {
	var found []Alert
	for name, counts := range f.Recent[measure.OfDestination] {
		n := counts[measure.Abandoned]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d attempts at %s were", n, name)
		if n == 1 {
			text = fmt.Sprintf("1 attempt at %s was", name)
		}
		found = append(found, Alert{
			Subject: name, Count: n,
			Message: text + " abandoned in the last 10 minutes: the call did not return within its timeout plus 5 seconds",
			Command: "hooklatch effects list --destination " + name,
		})
	}
	return found
}

// held returns the destinations that an operator has paused or whose breaker is open.
func held(f Facts) map[string]bool {
	names := map[string]bool{}
	for _, d := range f.Destinations {
		names[d.Name] = d.Paused || d.Broken
	}
	return names
}

// waiting returns the number of a destination's unfinished effects that do not need an operator.
func waiting(f Facts, destination string) int64 {
	var n int64
	for _, of := range f.Effects {
		if of.Destination == destination && of.Since == nil {
			n += of.Count
		}
	}
	return n
}

func effectsLate(f Facts) []Alert {
	var found []Alert
	holds := held(f)
	for _, of := range f.Due {
		if late := f.At.Sub(of.At); late >= lateAfter && !holds[of.Name] {
			n := waiting(f, of.Name)
			found = append(found, Alert{
				Subject: of.Name, Since: of.At, Count: n,
				Message: fmt.Sprintf("%s is behind: %s waiting, the oldest due for %s", of.Name, noun.Counted(n, "effect"), clock.Roughly(late)),
				Command: "hooklatch check",
			})
		}
	}
	return found
}

func eventsLate(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Undispatched {
		if late := f.At.Sub(of.Since); late >= lateAfter {
			why := ""
			if of.Unserved {
				why = "; no running worker has this source in its configuration"
			}
			found = append(found, Alert{
				Subject: of.Source, Since: of.Since, Count: of.Count,
				Message: fmt.Sprintf("%s: %s waiting to be dispatched, the oldest for %s%s", of.Source, noun.Counted(of.Count, "event"), clock.Roughly(late), why),
				Command: "hooklatch check",
			})
		}
	}
	return found
}

func breakerOpen(f Facts) []Alert {
	var found []Alert
	for _, d := range f.Destinations {
		if !d.Broken || d.Paused {
			continue
		}
		n := waiting(f, d.Name)
		one := Alert{
			Subject: d.Name, Count: n,
			Message: fmt.Sprintf("%s is down: %s waiting", d.Name, noun.Counted(n, "effect")), // omits the reason, which quotes responses
			Command: "hooklatch destinations list",
		}
		if d.OpenedAt != nil {
			one.Since = *d.OpenedAt
		}
		found = append(found, one)
	}
	return found
}

func noWorker(f Facts) []Alert {
	if f.Led {
		return nil
	}
	return []Alert{{Message: "no worker is running: nothing is dispatched and no effect starts", Command: "hooklatch worker"}}
}

func cellAway(f Facts) []Alert {
	var found []Alert
	for _, name := range f.Away {
		found = append(found, Alert{
			Subject: name,
			Message: fmt.Sprintf("the cell %s is unavailable: deliveries to its sources are answered with 503", name),
			Command: "hooklatch status",
		})
	}
	return found
}

func withheld(f Facts) []Alert {
	if !f.Withheld {
		return nil
	}
	return []Alert{{
		Message: "the database server has changed (restored or promoted): no at_most_once effect starts until an operator confirms it",
		Command: "hooklatch repair --restored-to TIME, or --promoted",
	}}
}

func partitionsMissing(f Facts) []Alert {
	if f.DaysAhead >= fewDays {
		return nil
	}
	message := fmt.Sprintf("deliveries can be stored for only %s", noun.Counted(f.DaysAhead, "more day"))
	if f.DaysAhead < 0 {
		message = "deliveries cannot be stored: today's partition is missing"
	}
	return []Alert{{
		Count:   int64(max(f.DaysAhead, 0)),
		Message: message,
		Command: "hooklatch migrate up",
	}}
}
