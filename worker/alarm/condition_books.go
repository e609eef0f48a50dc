package alarm

import (
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

func sourceSilent(f Facts) []Alert {
	usual := map[string]float64{}
	for _, u := range f.Usual {
		if u.Events != nil {
			usual[u.Source] = *u.Events
		}
	}
	var found []Alert
	for _, of := range f.LastAccepted {
		if silent := f.At.Sub(of.At); silent >= silentAfter && usual[of.Name] >= talksFrom {
			found = append(found, Alert{
				Subject: of.Name, Since: of.At,
				Message: fmt.Sprintf("%s is silent: no event accepted for %s, usually %.0f per hour at this time", of.Name, clock.Roughly(silent), usual[of.Name]),
				Command: "hooklatch quarantine list --source " + of.Name,
			})
		}
	}
	return found
}

// knownSenderRefused finds sources whose secret is probably wrong, even if they have too few
// deliveries for a refusal rate.
func knownSenderRefused(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Quarantine {
		if of.OfKnown < refusedInARow {
			continue
		}
		found = append(found, Alert{
			Subject: of.Source, Count: of.OfKnown, Since: *of.OfKnownSince,
			Message: fmt.Sprintf("%s refuses its known senders: %d deliveries refused, none accepted since", of.Source, of.OfKnown),
			Command: "hooklatch quarantine list --source " + of.Source,
		})
	}
	return found
}

func refusals(f Facts) []Alert {
	var found []Alert
	for name, counts := range f.Recent[measure.OfSource] {
		refused := measure.RefusedIn(counts)
		of, enough := share(refused, refused+counts[measure.Accepted]+counts[measure.Duplicate])
		// Requests to unknown sources come from unknown senders and need no action.
		if !enough || refused < fewAttempts || of < refusedShare || name == measure.Unknown {
			continue
		}
		found = append(found, Alert{
			Subject: name, Count: refused,
			Message: fmt.Sprintf("%s: %d requests refused in the last 10 minutes, %.0f %% of all", name, refused, 100*of),
			Command: "hooklatch quarantine list --source " + name,
		})
	}
	return found
}

func aside(state, one, several string) func(Facts) []Alert {
	return func(f Facts) []Alert {
		var found []Alert
		for _, of := range f.Effects {
			if of.State != state {
				continue
			}
			text := fmt.Sprintf("%d effects to %s %s", of.Count, of.Destination, several)
			if of.Count == 1 {
				text = fmt.Sprintf("1 effect to %s %s", of.Destination, one)
			}
			made := Alert{
				Subject: of.Destination, Count: of.Count,
				Message: text + ": retry or cancel",
				Command: fmt.Sprintf("hooklatch effects list --state %s --destination %s", state, of.Destination),
			}
			if of.Since != nil {
				made.Since = *of.Since
			}
			found = append(found, made)
		}
		return found
	}
}

func eventsAside(state, one, several, command string) func(Facts) []Alert {
	return func(f Facts) []Alert {
		var found []Alert
		for _, of := range f.EventsAside {
			if of.State != state {
				continue
			}
			text := fmt.Sprintf("%d events of %s %s", of.Count, of.Source, several)
			if of.Count == 1 {
				text = fmt.Sprintf("1 event of %s %s", of.Source, one)
			}
			found = append(found, Alert{Subject: of.Source, Since: of.Since, Count: of.Count, Message: text, Command: fmt.Sprintf(command, of.Source)})
		}
		return found
	}
}

func eventsSkipped(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Skipped {
		if of.Unusual() {
			were := "were"
			if of.CountBefore == 1 {
				were = "was"
			}
			found = append(found, Alert{
				Subject: of.Source, Since: of.Since, Count: of.Count,
				Message: fmt.Sprintf("%s: %s skipped in the last hour because no route matched; in the day before, %d had a route and %d %s skipped",
					of.Source, noun.Counted(of.Count, "event"), of.DispatchedBefore, of.CountBefore, were),
				Command: "hooklatch events list --state skipped --source " + of.Source,
			})
		}
	}
	return found
}

func retentionStopped(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Retention {
		if of.ExportFailedSince != nil {
			found = append(found, Alert{
				Subject: "export", Since: *of.ExportFailedSince,
				Message: "retention has stopped, because a day cannot be exported or an erasure cannot be repeated in the export: the tables grow until this is repaired",
				Command: "hooklatch check",
			})
		}
		if of.StoppedSince == nil {
			continue
		}
		subject := of.What
		if of.Source != "" {
			subject += " of " + of.Source
		}
		found = append(found, Alert{
			Subject: subject, Since: *of.StoppedSince,
			Message: fmt.Sprintf("retention of %s has stopped until an operator confirms: it would delete more than three days of data at once", subject),
			Command: "hooklatch retention run --dry-run",
		})
	}
	return found
}

func sizeBudget(f Facts) []Alert {
	var bytes int64
	for _, t := range f.Tables {
		bytes += t.Bytes
	}
	if f.SizeBudget == 0 || float64(bytes) < budgetShare*float64(f.SizeBudget) {
		return nil
	}
	return []Alert{{
		Count:   bytes,
		Message: fmt.Sprintf("the tables use %.0f %% of database.size_budget", 100*float64(bytes)/float64(f.SizeBudget)),
		Command: "hooklatch status",
	}}
}

func twoConfigurations(f Facts) []Alert {
	var hashes []string
	for _, p := range f.Processes {
		if !slices.Contains(hashes, p.ConfigHash) {
			hashes = append(hashes, p.ConfigHash)
		}
	}
	if len(hashes) < 2 {
		return nil
	}
	return []Alert{{
		Count:   int64(len(hashes)),
		Message: fmt.Sprintf("the running processes have %d different configurations; events are dispatched with the newest one", len(hashes)),
		Command: "hooklatch check",
	}}
}

func duplicates(f Facts) []Alert {
	var found []Alert
	for _, u := range f.Usual {
		rate, enough := u.Rate()
		if !enough || u.DuplicateRate == nil {
			continue
		}
		usual := *u.DuplicateRate
		if rate < duplicatesTimes*usual || rate < usual+duplicatesMore {
			continue
		}
		found = append(found, Alert{
			Subject: u.Source, Count: u.Duplicates, Since: f.At.Add(-time.Hour),
			Message: fmt.Sprintf("%s: %.0f %% of events in the last hour were duplicates, usually %.1f %%", u.Source, 100*rate, 100*usual),
			Command: "hooklatch events list --source " + u.Source,
		})
	}
	return found
}
