package alarm

import (
	"fmt"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// OfLists are the names of the conditions about lists of providers.
func OfLists() []string {
	return []string{"endpoint_off", "events_missed", "events_missed_often", "list_behind", "list_unreadable"}
}

// missedOf is how many events no webhook of a source brought in the last hour.
func missedOf(l measure.List) int64 { return max(l.Recovered+l.Lost, l.Reported) }

// often tells that webhooks fail more than now and then, or that an event is lost.
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
		text := fmt.Sprintf("%d events of %s were not brought by a webhook; the list of the provider has them", n, l.Source)
		if n == 1 {
			text = fmt.Sprintf("1 event of %s was not brought by a webhook; the list of the provider has it", l.Source)
		}
		one := Alert{Subject: l.Source, Count: n, Command: "hooklatch backfill status"}
		if l.Oldest != nil {
			one.Since = *l.Oldest
			text += fmt.Sprintf(", and the oldest happened %s ago", clock.Roughly(f.At.Sub(*l.Oldest)))
		}
		if l.Reported > l.Recovered {
			text += "; none is fetched, as the setting mode is report"
			one.Command = "hooklatch backfill " + l.Source
		}
		if l.Lost > 0 {
			text += fmt.Sprintf("; %d could neither be fetched nor redelivered", l.Lost)
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
			state = "is not ours"
		}
		found = append(found, Alert{
			Subject: l.Source, Since: *l.OffSince,
			Message: fmt.Sprintf("the endpoint of %s at the provider %s, as far as known for %s: %s", l.Source, state, clock.Roughly(f.At.Sub(*l.OffSince)), l.Why),
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
		text := fmt.Sprintf("%s is known to be complete until %s ago only", l.Source, clock.Roughly(f.At.Sub(l.CoveredUntil)))
		if slack > 0 {
			text += ", and the provider forgets what came then in " + clock.Roughly(slack)
		} else {
			text += ", and the provider no longer lists what came then"
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
				Message: fmt.Sprintf("the list of %s could not be read %d times in a row: %s", l.Source, l.Failures, l.Error),
				Command: "hooklatch backfill " + l.Source + " --dry-run",
			})
		}
	}
	return found
}
