package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// bySource finds events that no running worker serves, errors of provider lists, and skipped
// events.
func (w *waiting) bySource() {
	if w.err != nil {
		return
	}
	s := w.measured.snapshot
	for _, of := range s.Undispatched {
		if of.Unserved && w.now.Sub(of.Since) >= lateAfter {
			w.add("events_unserved", of.Count, of.Since, fmt.Sprintf("source %q: %s to be dispatched, the oldest %s: no running worker has this source in its configuration",
				of.Source, waits(of.Count, "event"), w.since(of.Since)),
				"add the source to a worker's configuration again: the worker dispatches the events, and skips events that no route matches")
		}
	}
	w.lists(s)
	var quiet []string
	for _, of := range s.Skipped {
		if !of.Unusual() {
			quiet = append(quiet, fmt.Sprintf("%d from %q", of.Count, of.Source))
			continue
		}
		were := "were"
		if of.CountBefore == 1 {
			were = "was"
		}
		w.add("events_skipped", of.Count, of.Since, fmt.Sprintf("source %q: %s skipped in the last hour because no route matched; in the day before, %d had a route and %d %s skipped",
			of.Source, several(of.Count, "event"), of.DispatchedBefore, of.CountBefore, were),
			fmt.Sprintf("compare the routes, then run: hooklatch events replay --state skipped --source %s", of.Source))
	}
	if len(quiet) > 0 {
		w.findings = append(w.findings, Finding{Level: OK, Check: "events_skipped", Message: "skipped in the last hour because no route matched: " + strings.Join(quiet, ", ")})
	}
}

// lists finds errors of provider lists and of endpoints at providers. If an alert about a list is
// firing, lists reports the alert's text instead. For each other source with a list, it reports,
// without a warning, the time up to which the source is complete.
func (w *waiting) lists(s *measure.Snapshot) {
	told := map[string]bool{}
	for _, a := range w.measured.alerts {
		if slices.Contains(alarm.OfLists(), a.Name) {
			told[a.Subject] = true
			w.add(a.Name, a.Count, a.Since, a.Message, "run: "+a.Command)
		}
	}
	for _, l := range s.Lists {
		switch {
		case told[l.Source]:
		case l.Error != "":
			w.add("list_unreadable", int64(l.Failures), l.CoveredUntil, fmt.Sprintf("the last pass over the provider's list of %q failed: %s", l.Source, l.Error), "run: hooklatch backfill "+l.Source+" --dry-run")
		default:
			w.findings = append(w.findings, Finding{Level: OK, Check: "list_behind", Message: fmt.Sprintf("source %q is known to be complete only up to %s ago", l.Source, clock.Roughly(w.now.Sub(l.CoveredUntil)))})
		}
	}
}

// announced is a running process with the configuration that it announced.
type announced struct {
	id         string
	number     int64
	since      time.Time
	dispatches bool
	routes     string
	sources    []string
}

// shares reports whether the two processes have a source in common.
func (a announced) shares(other announced) bool {
	return slices.ContainsFunc(a.sources, func(source string) bool {
		return source == "*" || slices.Contains(other.sources, source) || slices.Contains(other.sources, "*")
	})
}

// configurations finds workers that have an older configuration with other routes than the newest
// one, and a source in common with the newest one. A configuration counts as newest only after it
// has been announced for lateAfter.
func (w *waiting) configurations() {
	var all []announced
	var one announced
	w.ask(w.sql.Configurations.With(workerSeconds{WorkerSeconds: fleet.PresumedGone.Seconds()}), []any{&one.id, &one.number, &one.since, &one.dispatches, &one.routes, &one.sources}, func() {
		all = append(all, one)
		one.sources = nil
	})
	for i, newest := range all {
		if w.now.Sub(newest.since) < lateAfter || slices.ContainsFunc(all[:i], func(a announced) bool { return a.number == newest.number }) {
			continue
		}
		var older []string
		worked := newest.dispatches
		for _, other := range all[i+1:] {
			worked = worked || other.dispatches && other.routes == newest.routes
			if other.dispatches && other.number < newest.number && other.routes != newest.routes && newest.shares(other) {
				older = append(older, other.id)
			}
		}
		switch {
		case len(older) == 0:
		case worked:
			w.add("configurations", int64(len(older)), newest.since, fmt.Sprintf("%s has had the newest configuration %s, and workers with its routes dispatch the events of its sources; these processes have an older configuration and do not dispatch those events: %s",
				newest.id, w.since(newest.since), strings.Join(older, ", ")),
				"reload or stop the processes with an older configuration; if several configurations are meant to run, give each its own sources")
		default:
			w.add("configurations", int64(len(older)), newest.since, fmt.Sprintf("the gateway %s has had the newest configuration %s, and no worker runs with its routes; %s after the last such worker was seen, workers dispatch with their older routes: %s",
				newest.id, w.since(newest.since), fleet.GatewayPatience, strings.Join(older, ", ")),
				"reload the workers, or start them with the gateway's configuration file")
		}
		return
	}
}
