package alarm

import (
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
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
				Message: fmt.Sprintf("nothing was accepted of %s for %s; at this time it usually brings %.0f events an hour", of.Name, clock.Roughly(silent), usual[of.Name]),
				Command: "hooklatch quarantine list --source " + of.Name,
			})
		}
	}
	return found
}

// knownSenderRefused finds what the share of refusals hides at a source with few
// deliveries: a wrong secret.
func knownSenderRefused(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Quarantine {
		if of.OfKnown < refusedInARow {
			continue
		}
		found = append(found, Alert{
			Subject: of.Source, Count: of.OfKnown, Since: *of.OfKnownSince,
			Message: fmt.Sprintf("everything that known senders deliver to %s has been refused: %d deliveries, and none was accepted since", of.Source, of.OfKnown),
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
		// Strangers who try names are nobody's fault.
		if !enough || refused < fewAttempts || of < refusedShare || name == measure.Unknown {
			continue
		}
		found = append(found, Alert{
			Subject: name, Count: refused,
			Message: fmt.Sprintf("%d requests for %s were refused in the last 10 minutes, %.0f %% of all", refused, name, 100*of),
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
				Message: text + ": a person decides whether to retry or to cancel",
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

func eventsAside(state, what, command string) func(Facts) []Alert {
	return func(f Facts) []Alert {
		var found []Alert
		for _, of := range f.EventsAside {
			if of.State == state {
				found = append(found, Alert{
					Subject: of.Source, Since: of.Since, Count: of.Count,
					Message: fmt.Sprintf("events of %s %s: %d", of.Source, what, of.Count),
					Command: fmt.Sprintf(command, of.Source),
				})
			}
		}
		return found
	}
}

func eventsSkipped(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Skipped {
		if of.Unusual() {
			found = append(found, Alert{
				Subject: of.Source, Since: of.Since, Count: of.Count,
				Message: fmt.Sprintf("%d events of %s were skipped in the last hour, because no route wants them; in the day before %d had a route and %d were skipped",
					of.Count, of.Source, of.DispatchedBefore, of.CountBefore),
				Command: "hooklatch events list --state skipped --source " + of.Source,
			})
		}
	}
	return found
}

func retentionStopped(f Facts) []Alert {
	var found []Alert
	for _, of := range f.Retention {
		if of.StoppedSince == nil {
			continue
		}
		subject := of.What
		if of.Source != "" {
			subject += " of " + of.Source
		}
		found = append(found, Alert{
			Subject: subject, Since: *of.StoppedSince,
			Message: fmt.Sprintf("retention of %s waits for a person: more than three days would go at once", subject),
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
		Message: fmt.Sprintf("the tables take %.0f %% of database.size_budget", 100*float64(bytes)/float64(f.SizeBudget)),
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
		Message: fmt.Sprintf("the processes that run have %d different configurations; the newest one decides about events", len(hashes)),
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
			Message: fmt.Sprintf("%.0f %% of the events of %s in the last hour came before, usually %.1f %%", 100*rate, u.Source, 100*usual),
			Command: "hooklatch events list --source " + u.Source,
		})
	}
	return found
}
