package desk

import (
	"context"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// The states of a destination and of a source, as far as they decide what is possible.
const (
	Active      = "active"
	BreakerOpen = "open"      // no probe is on its way
	Probed      = "half_open" // a probe is
	Paused      = "paused"    // by a person
	Listed      = "listed"    // the list of the provider is read
	Unlisted    = "unlisted"
)

// Verbs are all of them. Of those that a run can do, the first of a thing is the usual one.
func Verbs() []Verb {
	return []Verb{
		{
			On: Events, Name: "replay", Action: ledger.ActionReplayEvent, Role: signin.Operator, Button: "Replay",
			Short: "Dispatch events once more, by the configuration of today",
			Means: "It is dispatched once more, by the routes of today. Effects that are done stay done; those that are not are tried again under their old keys.",
			Past:  "replayed", Done: "Replay ordered and recorded.", TakesNewKeys: true,
			From: texts(runs.StatesOfEvents(ledger.ActionReplayEvent)),
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, t Terms, by ledger.Operator) error {
				_, err := o.Inbox().Replay(ctx, of.Event, by, inbox.ReplayOptions{NewKeys: t.NewKeys})
				return err
			},
		},
		{
			On: Events, Name: "release", Action: ledger.ActionReleaseEvent, Role: signin.Operator, Button: "Release",
			Short: "Let events go on that a replay guard holds",
			Means: "It goes on to its dispatch, although its signature came before under another id or with another type. An event that was dropped can be released as well, by its name.",
			Past:  "released", Then: "it waits for its dispatch",
			From: texts([]inbox.Outcome{inbox.Held, inbox.Dropped}), Usual: string(inbox.Held), Do: toEvent((*inbox.Inbox).Release),
		},
		{
			On: Events, Name: "drop", Action: ledger.ActionDropEvent, Role: signin.Operator, Button: "Drop",
			Short: "Decide that events which a replay guard holds have no effect",
			Means: "It is decided to be a captured delivery sent again, and has no effect. Its row and its body stay, and it can still be released by its name.",
			Past:  "dropped", Then: "it has no effect",
			From: texts(runs.StatesOfEvents(ledger.ActionDropEvent)), Usual: string(inbox.Held), Do: toEvent((*inbox.Inbox).Drop),
		},
		{
			On: Events, Name: "erase", Action: erasure.ActionEraseEvent, Role: signin.Admin, Button: "Erase", Own: true,
			Short: "Take away what events said: bodies, headers, requests, answers and errors",
			Means: "It loses what it said, for good: its body and headers, what its effects sent, what was answered and what failed. It is ordered on a terminal: hooklatch events erase.",
			Past:  "erased",
		},
		{
			On: Effects, Name: "retry", Action: ledger.ActionRetryEffect, Role: signin.Operator, Button: "Retry",
			Short: "Try failed, parked or cancelled effects again, at once, under their keys",
			Means: "It is attempted again at once, with the same key and the same body. A receiver that knows the key applies it no second time.",
			Past:  "tried again", Done: "Retry ordered and recorded.",
			From: texts(ledger.StatesFor(ledger.ActionRetryEffect)), Usual: string(ledger.EffectFailed), Doubt: appliedTwice, Do: toEffect((*ledger.Ledger).Retry),
		},
		{
			On: Effects, Name: "park", Action: ledger.ActionParkEffect, Role: signin.Operator, Button: "Park",
			Short: "Put unfinished effects aside until a person retries or cancels them",
			Means: "It is put aside until a person retries or cancels it. An attempt that runs may still be applied, but settles nothing.",
			Past:  "parked",
			From:  texts(ledger.StatesFor(ledger.ActionParkEffect)), Usual: string(ledger.EffectPending), Do: toEffect((*ledger.Ledger).Park),
		},
		{
			On: Effects, Name: "cancel", Action: ledger.ActionCancelEffect, Role: signin.Operator, Button: "Cancel",
			Short: "Give effects up that are not done",
			Means: "It is given up, and not attempted any more. An attempt that runs may still be applied, but settles nothing. It can be retried later.",
			Past:  "cancelled",
			From:  texts(ledger.StatesFor(ledger.ActionCancelEffect)), Usual: string(ledger.EffectParked), Do: toEffect((*ledger.Ledger).Cancel),
		},
		{
			On: Destinations, Name: "resume", Action: ledger.ActionResumeDestination, Role: signin.Operator, Button: "Resume",
			Short: "End the pause of a destination",
			Means: "It takes its effects again. If its breaker is open, they still wait until a probe succeeds.",
			Past:  "resumed", From: []string{Paused}, Do: paused(false),
		},
		{
			On: Destinations, Name: "probe", Action: fleet.ActionProbe, Role: signin.Operator, Button: "Probe now", Asks: "Probe",
			Short: "Attempt the oldest due effect although the breaker is open",
			Means: "It is probed although the breaker is open: its oldest due effect is attempted, with its own key and body, instead of waiting for the time of the next probe. " +
				"If the receiver answers, all others go out again; if not, they wait for the next probe. A worker begins it within ten seconds, if an effect is due.",
			Past: "due for a probe", Done: "Ordered and recorded: a worker probes it within ten seconds, if an effect is due.", From: []string{BreakerOpen},
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
				return o.Fleet().ProbeNow(ctx, of.Name, by)
			},
		},
		{
			On: Destinations, Name: "pause", Action: ledger.ActionPauseDestination, Role: signin.Operator, Button: "Pause",
			Short: "Let no attempt at a destination start, in any process",
			Means: "It is paused: no attempt starts in any process until it is resumed. Attempts that run go on to their end. Its effects wait meanwhile, and use up no attempts. " +
				"Neither its circuit breaker nor a restart ends the pause.",
			Past: "paused", From: []string{Active, BreakerOpen, Probed}, Do: paused(true),
		},
		{
			On: Sources, Name: "backfill", Action: coverage.ActionRun, Role: signin.Operator, Button: "Run now", Asks: "Read the list of",
			Short: "Compare a source with the list of its provider now",
			Means: "It is compared with the list of its provider now, as on schedule: a worker reads the list and fetches what is missing; with mode: report it only counts. " +
				"A pass at work goes on, and the next one begins right after it. A pause that the provider asked for is kept.",
			Past: "due for a pass", Done: "Ordered and recorded: a worker reads the list within a minute, or when the pass at work has ended.", From: []string{Listed},
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
				return o.Coverage().RunNow(ctx, identity.Source(of.Name), by)
			},
		},
		{
			On: Runs, Name: "pause", Action: runs.ActionPause, Role: signin.Operator, Button: "Pause",
			Short: "Let a run rest until it is resumed",
			Means: "It rests after the batch at hand, until it is resumed. What was done stays done.",
			Past:  "paused", From: []string{string(runs.Running)}, Do: toRun((*runs.Runs).Pause),
		},
		{
			On: Runs, Name: "resume", Action: runs.ActionResume, Role: signin.Operator, Button: "Resume",
			Short: "Let a paused run go on",
			Means: "It goes on where it was. A worker of the database does it.",
			Past:  "resumed", From: []string{string(runs.Paused)}, Do: toRun((*runs.Runs).Resume),
		},
		{
			On: Runs, Name: "pace", Action: runs.ActionPace, Role: signin.Operator, Button: "Change the pace", Asks: "Change the pace of",
			Short: "Bound how many a run changes in a second",
			Means: "It goes on at this pace from its next batch on.",
			Past:  "at another pace", Done: "The pace is changed and recorded.", From: texts([]runs.State{runs.Running, runs.Paused}), TakesPace: true,
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, t Terms, by ledger.Operator) error {
				return o.Runs().SetPace(ctx, of.Run, t.Pace, by)
			},
		},
		{
			On: Runs, Name: "stop", Action: runs.ActionStop, Role: signin.Operator, Button: "Stop",
			Short: "End a run for good",
			Means: "It ends after the batch at hand, for good. What was done stays done. The rest can be ordered anew.",
			Past:  "stopped", From: texts([]runs.State{runs.Running, runs.Paused}), Do: toRun((*runs.Runs).Stop),
		},
		{
			On: Refused, Name: "retry", Action: quarantine.ActionRetry, Role: signin.Operator, Button: "Verify again", Own: true,
			Short: "Verify refused deliveries again, and accept those that are genuine",
			Means: "It is verified with the secrets and settings of now, its signed time compared with that of its arrival. If it is proven, it is accepted as if it had come again, once; if not, it stays here.",
			Past:  "accepted",
		},
		{
			On: Refused, Name: "drop", Action: quarantine.ActionDrop, Role: signin.Operator, Button: "Drop", Own: true,
			Short: "Delete refused deliveries for good",
			Means: "It leaves the quarantine, for good. It is ordered on a terminal: hooklatch quarantine drop.",
			Past:  "dropped",
		},
	}
}

// appliedTwice is why an effect that may have been applied is not simply retried.
func appliedTwice(e ledger.Effect) string {
	if e.Policy != ledger.AtMostOnce || e.MaybeAppliedSince.IsZero() {
		return ""
	}
	return "An attempt was started and nobody knows what came of it: the receiver may have applied it. The effect is at_most_once, and retrying may apply it twice."
}

type do = func(context.Context, *outbox.Outbox, Target, Terms, ledger.Operator) error

func toEvent(f func(*inbox.Inbox, context.Context, identity.EventRef, ledger.Operator) error) do {
	return func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
		return f(o.Inbox(), ctx, of.Event, by)
	}
}

func toEffect(f func(*ledger.Ledger, context.Context, string, ledger.Operator) error) do {
	return func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
		return f(o.Ledger(), ctx, of.Name, by)
	}
}

func toRun(f func(*runs.Runs, context.Context, int64, ledger.Operator) error) do {
	return func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
		return f(o.Runs(), ctx, of.Run, by)
	}
}

func paused(is bool) do {
	return func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
		return o.Fleet().SetPaused(ctx, of.Name, is, by)
	}
}

func texts[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}
