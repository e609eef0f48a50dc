package alarm

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// What is asked. The rules for Prometheus say the same.
const (
	// Window is what "lately" means.
	Window = 10 * time.Minute
	// fewAttempts is below how many first attempts, and refusals, their share says nothing.
	fewAttempts = 20
	// failedShare is from which share of failed first attempts on a destination fails.
	failedShare = 0.25
	// refusedShare is from which share of refused requests on a source is misconfigured.
	refusedShare = 0.1
	// refusedInARow is how many deliveries of known senders must be refused, and none
	// accepted, until their secret is taken for wrong.
	refusedInARow = 3
	// lateAfter is how long something may be due.
	lateAfter = 5 * time.Minute
	// silentAfter is how long a source may be silent that usually talks: talksFrom
	// events and more in such an hour.
	silentAfter = time.Hour
	talksFrom   = 10
	// A share of duplicates is a spike from duplicatesTimes the usual one on, when it is
	// duplicatesMore above it too.
	duplicatesTimes = 3
	duplicatesMore  = 0.1
	// fewDays of partitions are too few: a worker makes 14.
	fewDays = 3
	// budgetShare is from which share of its budget on the database is too large.
	budgetShare = 0.8
	// missedShare is from which share of what a provider lists on its webhooks fail often:
	// of missedFrom events and more.
	missedShare = 0.01
	missedFrom  = 3
	// slackShare is below which part of the time for which a provider lists an event it is
	// about to forget what nobody has fetched.
	slackShare = 0.25
	// failedPasses in a row make a list unreadable.
	failedPasses = 3
	// differFor is how long processes may have two configurations: a roll-out is short.
	differFor = 15 * time.Minute
)

// condition is one question, and what is found.
type condition struct {
	name     string
	severity Severity
	lasts    time.Duration // how long it must be so, when that is longer than usual
	find     func(f Facts) []Alert
}

var conditions = []condition{
	{name: "first_attempts_fail", severity: Page, find: firstAttemptsFail},
	{name: "effects_late", severity: Page, find: effectsLate},
	{name: "events_late", severity: Page, find: eventsLate},
	{name: "breaker_open", severity: Page, find: breakerOpen},
	{name: "no_worker", severity: Page, find: noWorker},
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
	{name: "events_failed", severity: Ticket, find: eventsAside("failed", "could not be dispatched", "hooklatch events replay --state failed --source %s")},
	{name: "events_held", severity: Ticket, find: eventsAside("held", "held as a suspected replay", "hooklatch events list --state held --source %s")},
	{name: "events_skipped", severity: Ticket, find: eventsSkipped},
	{name: "retention_stopped", severity: Ticket, find: retentionStopped},
	{name: "events_missed", severity: Ticket, find: missed},
	{name: "list_unreadable", severity: Ticket, find: listUnreadable},
	{name: "size_budget", severity: Ticket, find: sizeBudget},
	{name: "two_configurations", severity: Ticket, lasts: differFor, find: twoConfigurations},
	{name: "duplicates", severity: Notice, find: duplicates},
}

// share is what part of all something is. False: there are too few of all to say.
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
				Message: fmt.Sprintf("%.0f %% of the first attempts to %s failed in the last 10 minutes: %d of %d", 100*of, name, failed, counts[measure.First]),
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
		text := fmt.Sprintf("%d attempts to %s were", n, name)
		if n == 1 {
			text = fmt.Sprintf("1 attempt to %s was", name)
		}
		found = append(found, Alert{
			Subject: name, Count: n,
			Message: text + " abandoned in the last 10 minutes: the sender did not return in time",
			Command: "hooklatch effects list --destination " + name,
		})
	}
	return found
}

// held tells which destinations a person or a breaker holds.
func held(f Facts) map[string]bool {
	names := map[string]bool{}
	for _, d := range f.Destinations {
		names[d.Name] = d.Paused || d.Broken
	}
	return names
}

// waiting is how many effects of a destination are not finished.
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
				Message: fmt.Sprintf("an effect to %s has been due for %s; %d wait", of.Name, clock.Roughly(late), n),
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
				why = ", and no running worker has the source in its configuration"
			}
			found = append(found, Alert{
				Subject: of.Source, Since: of.Since, Count: of.Count,
				Message: fmt.Sprintf("an event of %s has waited for its dispatch for %s; %d wait%s", of.Source, clock.Roughly(late), of.Count, why),
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
		one := Alert{
			Subject: d.Name, Count: waiting(f, d.Name),
			Message: fmt.Sprintf("%s is down; %d effects wait", d.Name, waiting(f, d.Name)), // the reason quotes its answers
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
	return []Alert{{Message: "no worker runs: nothing is dispatched and no effect starts", Command: "hooklatch worker"}}
}

func withheld(f Facts) []Alert {
	if !f.Withheld {
		return nil
	}
	return []Alert{{
		Message: "the database is on another server than before, restored or promoted: no at_most_once effect starts",
		Command: "hooklatch repair --restored-to TIME, or --promoted",
	}}
}

func partitionsMissing(f Facts) []Alert {
	if f.DaysAhead >= fewDays {
		return nil
	}
	return []Alert{{
		Count:   int64(f.DaysAhead),
		Message: fmt.Sprintf("deliveries can be stored for %d more days only", f.DaysAhead),
		Command: "hooklatch migrate up",
	}}
}
