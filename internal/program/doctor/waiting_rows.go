package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// came returns the verb for failed or parked effects in a message.
func came(state string, count int64) string {
	switch {
	case state == "failed":
		return "failed"
	case count == 1:
		return "is " + state
	}
	return "are " + state
}

// span formats the times of the first and last of several rows.
func (w *waiting) span(first, last *time.Time) string {
	from, to := orZero(first), orZero(last)
	if !to.After(from) {
		return w.since(from)
	}
	return fmt.Sprintf("the first at %s (%s ago), the last %s ago", from.UTC().Format(timeLayout), clock.Roughly(w.now.Sub(from)), clock.Roughly(w.now.Sub(to)))
}

// setAside finds effects that stay in their state until an operator acts.
func (w *waiting) setAside() {
	var destination, state, why string
	var count, inDoubt, unrendered int64
	var since, latest *time.Time
	var sources []string
	var sinces []time.Time
	w.ask(w.sql.Effects, []any{&destination, &state, &count, &inDoubt, &unrendered, &since, &latest, &why, &sources, &sinces}, func() {
		message := fmt.Sprintf("destination %q: %s %s, %s%s", destination, several(count, "effect"), came(state, count), w.span(since, latest), because(why))
		if inDoubt > 0 {
			message += fmt.Sprintf("\n%d of them may have been applied already", inDoubt)
		}
		if unrendered > 0 {
			message += fmt.Sprintf("\nthe requests of %d of them could not be rendered", unrendered)
		}
		selected := fmt.Sprintf("--state %s --destination %s", state, destination)
		var commands []string
		if count > inDoubt+unrendered {
			commands = append(commands, "hooklatch effects retry "+selected)
		}
		if inDoubt > 0 {
			commands = append(commands, "hooklatch effects retry "+selected+" --in-doubt")
		}
		for i, source := range sources { // a replay does not repeat effects that are done
			commands = append(commands, fmt.Sprintf("hooklatch events replay --state dispatched --source %s --since %s", source, sinces[i].UTC().Format(time.RFC3339)))
		}
		w.add("effects_"+state, count, orZero(since), message,
			fmt.Sprintf("list the effects with `hooklatch effects list %s`, fix the cause, then run: %s; or cancel the effects", selected, strings.Join(commands, "; ")))
	})
}

// failedEvents finds events that are not dispatched until an operator replays them.
func (w *waiting) failedEvents() {
	var source, why string
	var count int64
	var since, latest *time.Time
	w.ask(w.sql.FailedEvents, []any{&source, &count, &since, &latest, &why}, func() {
		w.add("events_failed", count, orZero(since), fmt.Sprintf("source %q: the dispatch of %s failed permanently, %s%s",
			source, several(count, "event"), w.span(since, latest), because(why)),
			"fix the cause, then run: hooklatch events replay --state failed --source "+source)
	})
}

// refused finds refused deliveries from known addresses: the source may have a wrong secret.
func (w *waiting) refused() {
	var source, reason string
	var count int64
	var since, latest *time.Time
	var noneAccepted bool
	w.ask(w.sql.Refused, []any{&source, &count, &since, &latest, &reason, &noneAccepted}, func() {
		are, though := "are", ""
		if count == 1 {
			are = "is"
		}
		if noneAccepted {
			though = "; no delivery has been accepted since"
		}
		w.add("quarantine", count, orZero(since), fmt.Sprintf("source %q: %s from its sender's addresses %s in quarantine, refused for %s, %s%s",
			source, deliveries(count), are, reason, w.span(since, latest), though),
			fmt.Sprintf("compare the secret with the provider's, then run: hooklatch quarantine retry --source %[1]s; to delete unwanted deliveries: hooklatch quarantine drop --source %[1]s", source))
	})
}

func deliveries(n int64) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprintf("%d deliveries", n)
}

// events finds events that wait to be dispatched.
func (w *waiting) events() {
	var queue string
	var count int64
	var since time.Time
	var reportedAt *time.Time
	w.ask(w.sql.Events.With(workerSeconds{WorkerSeconds: fleet.PresumedGone.Seconds()}), []any{&queue, &count, &since, &reportedAt}, func() {
		why := w.unserved(orZero(reportedAt))
		if why == "" && w.now.Sub(since) < lateAfter {
			return
		}
		fix := "run: hooklatch worker; or hooklatch serve"
		if why == "" {
			why, fix = "a worker processes the queue but cannot keep up, or fails", "check the worker's log, and the errors of the jobs in River UI"
		}
		w.add("events_waiting", count, since, fmt.Sprintf("queue %q: %s to be dispatched, the oldest %s: %s",
			queue, waits(count, "event"), w.since(since), why), fix)
	})
}

// abandoned finds destinations with recently abandoned attempts. Each such attempt kept its slot
// even after its timeout.
func (w *waiting) abandoned() {
	for _, found := range w.measured.alerts {
		if found.Name == "attempts_abandoned" {
			w.add(found.Name, found.Count, w.now.Add(-alarm.Window), found.Message,
				"search the workers' logs for `attempt abandoned`; a restart ends the calls that have not returned")
		}
	}
}

// pausedQueues finds queues that were paused in River itself. Such a pause does not pause a
// destination: first attempts do not use the queue.
func (w *waiting) pausedQueues() {
	var queue string
	var since time.Time
	w.ask(w.sql.PausedQueues, []any{&queue, &since}, func() {
		w.add("paused_queue", 0, since, fmt.Sprintf("queue %q has been paused in River %s: its jobs wait, but first attempts of effects continue", queue, w.since(since)),
			"resume the queue in River UI; to pause a destination, run: hooklatch destinations pause NAME")
	})
}

// destinations finds paused destinations, open breakers, and effects whose attempts are late.
func (w *waiting) destinations() {
	var name, pausedBy, pauseReason, breakerReason string
	var count, late int64
	var paused, broken bool
	var lateSince, reportedAt, pausedAt, openedAt, probeAt *time.Time
	w.ask(w.sql.Destinations.With(lateBefore{LateBefore: w.now.Add(-lateAfter)}), []any{
		&name, &count, &late, &lateSince, &reportedAt, &paused, &pausedBy, &pauseReason, &pausedAt, &broken, &breakerReason, &openedAt, &probeAt,
	}, func() {
		behind := "; " + waits(count, "effect")
		if paused {
			w.add("paused", count, orZero(pausedAt), fmt.Sprintf("destination %q is paused by %s %s%s%s", name, pausedBy, w.since(orZero(pausedAt)), because(pauseReason), behind),
				"to resume the destination, run: hooklatch destinations resume "+name)
		}
		if broken {
			w.add("breaker", count, orZero(openedAt), fmt.Sprintf("the breaker of %q has been open %s%s%s", name, w.since(orZero(openedAt)), because(breakerReason), behind),
				fmt.Sprintf("repair the receiver; the next probe is at %s, and a successful probe closes the breaker. To probe now, run: hooklatch destinations probe %s",
					orZero(probeAt).UTC().Format(timeLayout), name))
		}
		if paused || broken || late == 0 {
			return
		}
		why, fix := w.unserved(orZero(reportedAt)), "run: hooklatch worker; or hooklatch serve"
		if why == "" {
			why, fix = "a worker processes the queue but cannot keep up", "check the worker's log, or raise the destination's concurrency or rate"
		}
		w.add("effects_waiting", late, orZero(lateSince), fmt.Sprintf("destination %q: %s for an attempt that is due, the oldest %s: %s",
			name, waits(late, "effect"), w.since(orZero(lateSince)), why), fix)
	})
}
