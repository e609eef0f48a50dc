package desk

import (
	"context"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// States of destinations and sources that decide which verbs are possible.
const (
	Active      = "active"
	BreakerOpen = "open"      // no probe is in flight
	Probed      = "half_open" // a probe is in flight
	Paused      = "paused"    // paused by an operator
	Listed      = "listed"    // a worker reads the provider's list
	Unlisted    = "unlisted"
)

// ActionSendEvent is the action in the operator log for sending a test event to the gateway.
const ActionSendEvent ledger.Action = "source.send"

// Verbs returns all verbs. For each kind of thing, the first verb that a bulk run can apply is the
// default on the page of a new run.
func Verbs() []Verb {
	return []Verb{
		{
			On: Events, Name: "replay", Action: ledger.ActionReplayEvent, Role: signin.Operator, Button: "Replay",
			Short: "Dispatch events again with the current routes",
			Means: "The event is dispatched again with the current routes. Completed effects stay unchanged; all others are retried under their existing keys.",
			Past:  "replayed", Done: "Replay requested and recorded.", TakesNewKeys: true, TakesRoute: true,
			From: texts(runs.StatesOfEvents(ledger.ActionReplayEvent)),
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, t Terms, by ledger.Operator) error {
				_, err := o.Inbox().Replay(ctx, of.Event, by, inbox.ReplayOptions{NewKeys: t.NewKeys, Route: t.Route})
				return err
			},
		},
		{
			On: Events, Name: "release", Action: ledger.ActionReleaseEvent, Role: signin.Operator, Button: "Release", Idempotent: true,
			Short: "Dispatch events that a replay guard holds",
			Means: "The event is dispatched, although its signature was already seen with another id or another type. A filter selects only held events: release a dropped event by its source and id.",
			Past:  "released", Then: "it is waiting to be dispatched",
			From: texts([]inbox.Outcome{inbox.Held, inbox.Dropped}), Usual: string(inbox.Held), Do: toEvent((*inbox.Inbox).Release),
		},
		{
			On: Events, Name: "drop", Action: ledger.ActionDropEvent, Role: signin.Operator, Button: "Drop", Idempotent: true,
			Short: "Discard events that a replay guard holds, without any effects",
			Means: "The event is treated as a captured delivery that was sent again, and causes no effects. Its row and body are kept, and it can still be released by its source and id.",
			Past:  "dropped", Then: "it causes no effects",
			From: texts(runs.StatesOfEvents(ledger.ActionDropEvent)), Usual: string(inbox.Held), Do: toEvent((*inbox.Inbox).Drop),
		},
		{
			On: Events, Name: "erase", Action: erasure.ActionEraseEvent, Role: signin.Admin, Button: "Erase", Own: true,
			Short: "Erase the content of events: bodies, headers, requests, responses and errors",
			Means: "The event loses its content: its body and headers, the requests that its effects sent, the responses and the errors. This cannot be undone. The verb is available on the command line only: hooklatch events erase.",
			Past:  "erased",
		},
		{
			On: Effects, Name: "retry", Action: ledger.ActionRetryEffect, Role: signin.Operator, Button: "Retry",
			Short: "Retry failed, parked or cancelled effects immediately, under their existing keys",
			Means: "The effect is attempted again immediately, with the same key and the same body. A receiver that recognises the key does not apply the effect a second time.",
			Past:  "tried again", Done: "Retry requested and recorded.",
			From: texts(ledger.StatesFor(ledger.ActionRetryEffect)), Usual: string(ledger.EffectFailed), Doubt: appliedTwice, Do: toEffect((*ledger.Ledger).Retry),
		},
		{
			On: Effects, Name: "park", Action: ledger.ActionParkEffect, Role: signin.Operator, Button: "Park", Idempotent: true, Reversible: true,
			Short: "Set unfinished effects aside until an operator retries or cancels them",
			Means: "The effect is set aside until an operator retries or cancels it. The receiver may still apply an attempt that is running, but its result no longer changes the effect.",
			Past:  "parked",
			From:  texts(ledger.StatesFor(ledger.ActionParkEffect)), Usual: string(ledger.EffectPending), Do: toEffect((*ledger.Ledger).Park),
		},
		{
			On: Effects, Name: "cancel", Action: ledger.ActionCancelEffect, Role: signin.Operator, Button: "Cancel", Idempotent: true,
			Short: "Abandon unfinished effects",
			Means: "The effect is abandoned and not attempted again. The receiver may still apply an attempt that is running, but its result no longer changes the effect. A cancelled effect can be retried later.",
			Past:  "cancelled",
			From:  texts(ledger.StatesFor(ledger.ActionCancelEffect)), Usual: string(ledger.EffectParked), Do: toEffect((*ledger.Ledger).Cancel),
		},
		{
			On: Effects, Name: "resend", Action: ledger.ActionResendEffect, Role: signin.Operator, Button: "Resend",
			Short: "Send an effect's request again as a new effect, edited or unchanged",
			Means: "The effect's request is sent to the same destination again, edited or unchanged, by a new effect with another key. The old effect stays as it is. The new effect is not ordered (order_by). The pages of both effects link to each other.",
			Past:  "resent", Done: "Resent and recorded: this is the new effect.", TakesRequest: true, Doubt: otherKey,
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, t Terms, by ledger.Operator) error {
				_, err := o.Ledger().Resend(ctx, of.Name, t.Request, by)
				return err
			},
		},
		{
			On: Destinations, Name: "resume", Action: ledger.ActionResumeDestination, Role: signin.Operator, Button: "Resume", Idempotent: true,
			Short: "End a destination's pause",
			Means: "The destination is resumed: workers start attempts at it again. If the destination's breaker is open, the effects still wait until a probe succeeds.",
			Past:  "resumed", From: []string{Paused}, Do: paused(false),
		},
		{
			On: Destinations, Name: "probe", Action: fleet.ActionProbe, Role: signin.Operator, Button: "Probe now", Asks: "Probe",
			Short: "Attempt the oldest due effect while the breaker is open",
			Means: "The destination is probed now, even though its breaker is open. A worker attempts the oldest due effect, with the effect's own key and body, without waiting for the next scheduled probe. " +
				"If the probe succeeds, the breaker closes and attempts of all effects resume; if not, the effects wait for the next probe. A worker starts the probe within ten seconds, if an effect is due.",
			Past: "due for a probe", Done: "Requested and recorded: a worker probes the destination within ten seconds, if an effect is due.", From: []string{BreakerOpen},
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
				return o.Fleet().ProbeNow(ctx, of.Name, by)
			},
		},
		{
			On: Destinations, Name: "pause", Action: ledger.ActionPauseDestination, Role: signin.Operator, Button: "Pause", Idempotent: true, Reversible: true,
			Short: "Pause a destination, so that no process starts attempts at it",
			Means: "The destination is paused: no process starts an attempt until an operator resumes the destination. Running attempts finish. Meanwhile the effects wait and use up no attempts. " +
				"Neither its circuit breaker nor a restart ends the pause.",
			Past: "paused", From: []string{Active, BreakerOpen, Probed}, Do: paused(true),
		},
		{
			On: Sources, Name: "backfill", Action: coverage.ActionRun, Role: signin.Operator, Button: "Run now", Asks: "Read the list of",
			Short: "Compare a source with its provider's list now",
			Means: "The source is compared with its provider's list now, as in a scheduled pass. A worker reads the list and fetches missing events. If the mode of the source's backfill is report, the worker only counts them. " +
				"If a pass is running, it finishes first, and the next one starts right after it. If the provider asked for a delay, the next pass starts after the delay.",
			Past: "due for a pass", Done: "Requested and recorded: a worker reads the list within a minute, or when the running pass has finished.", From: []string{Listed},
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, _ Terms, by ledger.Operator) error {
				return o.Coverage().RunNow(ctx, identity.Source(of.Name), by)
			},
		},
		{
			On: Sources, Name: "send", Action: ActionSendEvent, Role: signin.Operator, Button: "Send a test event", Own: true,
			Short: "Sign a test event as its provider does, and deliver it",
			Means: "The source receives a test event with a new id. The event is signed as the source's provider signs, with the first secret that is valid now. The gateway verifies and stores the event like any other, and its routes cause real effects. The event's page shows who sent it.",
			Past:  "sent", Done: "Test event sent, accepted and recorded.",
		},
		{
			On: Runs, Name: "pause", Action: runs.ActionPause, Role: signin.Operator, Button: "Pause", Idempotent: true, Reversible: true,
			Short: "Pause a run until it is resumed",
			Means: "The run stops after the current batch until an operator resumes it. Changes already made stay.",
			Past:  "paused", From: []string{string(runs.Running)}, Do: toRun((*runs.Runs).Pause),
		},
		{
			On: Runs, Name: "resume", Action: runs.ActionResume, Role: signin.Operator, Button: "Resume", Idempotent: true,
			Short: "Continue a paused run",
			Means: "The run continues where it stopped, in any worker that uses this database.",
			Past:  "resumed", From: []string{string(runs.Paused)}, Do: toRun((*runs.Runs).Resume),
		},
		{
			On: Runs, Name: "pace", Action: runs.ActionPace, Role: signin.Operator, Button: "Change the pace", Asks: "Change the pace of", Idempotent: true, Reversible: true,
			Short: "Limit how many changes a run makes per second",
			Means: "The run continues at this pace, starting with its next batch.",
			Past:  "at a new pace", Done: "Pace changed and recorded.", From: texts([]runs.State{runs.Running, runs.Paused}), TakesPace: true,
			Do: func(ctx context.Context, o *outbox.Outbox, of Target, t Terms, by ledger.Operator) error {
				return o.Runs().SetPace(ctx, of.Run, t.Pace, by)
			},
		},
		{
			On: Runs, Name: "stop", Action: runs.ActionStop, Role: signin.Operator, Button: "Stop", Idempotent: true,
			Short: "End a run permanently",
			Means: "The run ends after the current batch and cannot be resumed. Changes already made stay. A new run can process the rest.",
			Past:  "stopped", From: texts([]runs.State{runs.Running, runs.Paused}), Do: toRun((*runs.Runs).Stop),
		},
		{
			On: Refused, Name: "retry", Action: quarantine.ActionRetry, Role: signin.Operator, Button: "Verify again", Own: true,
			Short: "Verify refused deliveries again and accept the genuine ones",
			Means: "The delivery is verified again with the current secrets and settings. Its signed time is compared with its time of arrival. If verification succeeds, the delivery is accepted once, as if the sender had delivered it again; if not, it stays in quarantine.",
			Past:  "accepted",
		},
		{
			On: Refused, Name: "drop", Action: quarantine.ActionDrop, Role: signin.Operator, Button: "Drop", Own: true,
			Short: "Delete refused deliveries permanently",
			Means: "The delivery is deleted from the quarantine. This cannot be undone. The verb is available on the command line only: hooklatch quarantine drop.",
			Past:  "dropped",
		},
	}
}

// appliedTwice returns a warning if a retry of the effect may apply it twice, and "" otherwise.
// Under at_least_once, an effect that may have been applied is parked if the receiver may no longer
// recognise its key.
func appliedTwice(e ledger.Effect) string {
	switch {
	case e.MaybeAppliedSince.IsZero():
		return ""
	case e.Policy == ledger.AtLeastOnce && e.State == ledger.EffectParked:
		return "An attempt may have been applied, and the receiver may have forgotten its key. A retry may then apply the effect twice."
	case e.Policy != ledger.AtMostOnce:
		return ""
	}
	return "An attempt was started and its outcome is unknown: the receiver may have applied it. The effect is at_most_once, and a retry may apply it twice."
}

// otherKey returns the warning before an effect is resent under another key.
func otherKey(e ledger.Effect) string {
	const twice = "The receiver cannot recognise the new effect as a repetition, because its key differs."
	switch {
	case e.State == ledger.EffectDone:
		return "The receiver has confirmed this effect, and will also apply the new effect. " + twice
	case !e.State.Finished():
		return "This effect is not finished and will be attempted too, so the receiver may apply both. Cancel this effect first if only the new one is to be sent. " + twice
	case !e.MaybeAppliedSince.IsZero():
		return "The outcome of an attempt is unknown: the receiver may have applied this effect, and would then apply it a second time. " + twice
	}
	return "If the receiver has applied this effect, it applies it a second time. " + twice
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
