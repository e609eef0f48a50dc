package alarm

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// OfLists returns the names of the conditions about provider lists.
func OfLists() []string {
	return []string{"endpoint_off", "events_missed", "events_missed_often", "list_behind", "list_unreadable"}
}

// missedOf returns the number of a source's events that no webhook delivered, as found by the
// passes of the last hour.
func missedOf(l measure.List) int64 { return max(l.Recovered+l.Lost, l.Reported) }

// often reports whether webhooks are missed frequently, or an event is lost.
func often(l measure.List) bool {
	n := missedOf(l)
	return l.Lost > 0 || n >= missedFrom && float64(n) > missedShare*float64(l.Listed)
}

func missed(f Facts) []Alert      { return missedBy(f, false) }
func missedOften(f Facts) []Alert { return missedBy(f, true) }

func missedBy(f Facts, oftenOnes bool) []Alert {
	var found []Alert
	for _, l := range f.Lists {
		n := missedOf(l)
		if n == 0 || often(l) != oftenOnes {
			continue
		}
		text := fmt.Sprintf("%d events of %s were not delivered by a webhook but are in the provider's list", n, l.Source)
		if n == 1 {
			text = fmt.Sprintf("1 event of %s was not delivered by a webhook but is in the provider's list", l.Source)
		}
		one := Alert{Subject: l.Source, Count: n, Command: "hooklatch backfill status"}
		if l.Oldest != nil {
			one.Since = *l.Oldest
			text += fmt.Sprintf("; the oldest occurred %s ago", clock.Roughly(f.At.Sub(*l.Oldest)))
		}
		if l.Reported > l.Recovered {
			text += "; none is fetched because mode is report"
			one.Command = "hooklatch backfill " + l.Source
			if l.Oldest != nil { // passes that only report move the watermark too
				one.Command += " --since " + l.Oldest.UTC().Format(time.RFC3339)
			}
		}
		if l.Lost > 0 {
			text += fmt.Sprintf("; %d could be neither fetched nor redelivered", l.Lost)
		}
		one.Message = text
		found = append(found, one)
	}
	return found
}

func endpointOff(f Facts) []Alert {
	var found []Alert
	for _, l := range f.Lists {
		if l.OffSince == nil {
			continue
		}
		state := "is switched off"
		if l.Endpoint == "foreign" {
			state = "points to another URL"
		}
		found = append(found, Alert{
			Subject: l.Source, Since: *l.OffSince,
			Message: fmt.Sprintf("%s: the endpoint at the provider %s, noticed %s ago: %s", l.Source, state, clock.Roughly(f.At.Sub(*l.OffSince)), l.Why),
			Command: "hooklatch backfill status",
		})
	}
	return found
}

func listBehind(f Facts) []Alert {
	var found []Alert
	for _, l := range f.Lists {
		slack, known := l.Slack(f.At)
		if !known || slack.Seconds() >= slackShare*l.Seconds {
			continue
		}
		text := fmt.Sprintf("%s is known to be complete only up to %s ago", l.Source, clock.Roughly(f.At.Sub(l.CoveredUntil)))
		if slack > 0 {
			text += ", and the provider removes the events of that time from its list in " + clock.Roughly(slack)
		} else {
			text += ", and the provider no longer lists the events of that time"
		}
		found = append(found, Alert{Subject: l.Source, Since: l.CoveredUntil, Message: text, Command: "hooklatch backfill status"})
	}
	return found
}

func listUnreadable(f Facts) []Alert {
	var found []Alert
	for _, l := range f.Lists {
		if l.Failures >= failedPasses {
			found = append(found, Alert{
				Subject: l.Source, Since: l.CoveredUntil, Count: int64(l.Failures),
				Message: fmt.Sprintf("%s: the provider's list could not be read %d times in a row: %s", l.Source, l.Failures, l.Error),
				Command: "hooklatch backfill " + l.Source + " --dry-run",
			})
		}
	}
	return found
}
