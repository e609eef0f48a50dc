package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// came is how effects came to a state that only a person ends.
func came(state string, count int64) string {
	switch {
	case state == "failed":
		return "failed"
	case count == 1:
		return "is " + state
	}
	return "are " + state
}

// span is when the first and the last of several came.
func (w *waiting) span(first, last *time.Time) string {
	from, to := orZero(first), orZero(last)
	text := w.since(from)
	if to.After(from) {
		text = fmt.Sprintf("the first %s, the last %s ago", text, clock.Roughly(w.now.Sub(to)))
	}
	return text
}

// setAside finds effects that only a person sets going again.
func (w *waiting) setAside() {
	var destination, state, why string
	var count, inDoubt, unrendered int64
	var since, latest *time.Time
	var sources []string
	var sinces []time.Time
	w.ask(w.sql.Effects, []any{&destination, &state, &count, &inDoubt, &unrendered, &since, &latest, &why, &sources, &sinces}, func() {
		message := fmt.Sprintf("to %q: %s %s, %s%s", destination, several(count, "effect"), came(state, count), w.span(since, latest), because(why))
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
		for i, source := range sources { // what succeeded stays as it is
			commands = append(commands, fmt.Sprintf("hooklatch events replay --state dispatched --source %s --since %s", source, sinces[i].UTC().Format(time.RFC3339)))
		}
		w.add("effects_"+state, count, orZero(since), message,
			fmt.Sprintf("see `hooklatch effects list %s`, repair the cause, then run: %s; or cancel them", selected, strings.Join(commands, "; ")))
	})
}

// failedEvents finds events that nothing dispatches until they are replayed.
func (w *waiting) failedEvents() {
	var source, why string
	var count int64
	var since, latest *time.Time
	w.ask(w.sql.FailedEvents, []any{&source, &count, &since, &latest, &why}, func() {
		w.add("events_failed", count, orZero(since), fmt.Sprintf("of %q: the dispatch of %s failed for good, %s%s",
			source, several(count, "event"), w.span(since, latest), because(why)),
			"repair the cause, then run: hooklatch events replay --state failed --source "+source)
	})
}

// refused finds deliveries of known senders that were refused, as under a wrong secret.
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
			though = "; none was accepted since"
		}
		w.add("quarantine", count, orZero(since), fmt.Sprintf("of %q: %s from addresses of its sender %s in quarantine, refused for %s, %s%s",
			source, deliveries(count), are, reason, w.span(since, latest), though),
			fmt.Sprintf("compare the secret with the one at the provider, then run: hooklatch quarantine retry --source %[1]s; what is not wanted: hooklatch quarantine drop --source %[1]s", source))
	})
}

func deliveries(n int64) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprintf("%d deliveries", n)
}

// events finds events that wait for their dispatch.
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
			why, fix = "a worker works its queue and does not keep up, or fails", "look at its log, and at the errors of the jobs in River UI"
		}
		w.add("events_waiting", count, since, fmt.Sprintf("in queue %q: %s for a dispatch, the oldest %s: %s",
			queue, waits(count, "event"), w.since(since), why), fix)
	})
}

// abandoned finds destinations whose sender did not return lately. Each such attempt kept
// a slot longer than its time-out.
func (w *waiting) abandoned() {
	for _, found := range w.measured.alerts {
		if found.Name == "attempts_abandoned" {
			w.add(found.Name, found.Count, w.now.Add(-alarm.Window), found.Message,
				"look for `attempt abandoned` in the log of the workers; a restart ends the calls that have not returned")
		}
	}
}

// pausedQueues finds what somebody paused in River itself: that is no pause of a
// destination, whose first attempts are made without its queue.
func (w *waiting) pausedQueues() {
	var queue string
	var since time.Time
	w.ask(w.sql.PausedQueues, []any{&queue, &since}, func() {
		w.add("paused_queue", 0, since, fmt.Sprintf("queue %q has been paused in River %s: its jobs wait, but first attempts of effects go on", queue, w.since(since)),
			"resume it in River UI; to hold a destination, run: hooklatch destinations pause NAME")
	})
}

// destinations finds effects that wait, and what holds their destination.
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
			w.add("paused", count, orZero(pausedAt), fmt.Sprintf("%q is paused by %s %s%s%s", name, pausedBy, w.since(orZero(pausedAt)), because(pauseReason), behind),
				"when it may go on, run: hooklatch destinations resume "+name)
		}
		if broken {
			w.add("breaker", count, orZero(openedAt), fmt.Sprintf("the breaker of %q is open %s%s%s", name, w.since(orZero(openedAt)), because(breakerReason), behind),
				fmt.Sprintf("repair the receiver; the next probe is at %s, and one that succeeds closes it. To probe at once, run: hooklatch destinations probe %s",
					orZero(probeAt).UTC().Format(timeLayout), name))
		}
		if paused || broken || late == 0 {
			return
		}
		why, fix := w.unserved(orZero(reportedAt)), "run: hooklatch worker; or hooklatch serve"
		if why == "" {
			why, fix = "a worker works its queue and does not keep up", "look at its log; or raise concurrency or rate of the destination"
		}
		w.add("effects_waiting", late, orZero(lateSince), fmt.Sprintf("to %q: %s for an attempt that is due, the oldest %s: %s",
			name, waits(late, "effect"), w.since(orZero(lateSince)), why), fix)
	})
}
