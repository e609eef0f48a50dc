package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// effectDetail is an effect with its attempts and transitions.
type effectDetail struct {
	ledger.Effect

	attempts    []ledger.Attempt
	transitions []ledger.Transition
	suppressed  bool // for the event it is shown with
}

// effectHistory is what --json adds to an effect that is shown alone.
type effectHistory struct {
	Attempts    []ledger.Attempt    `json:"attempts,omitempty"`
	Transitions []ledger.Transition `json:"transitions,omitempty"`
}

func loadEffect(ctx context.Context, o *outbox.Outbox, key string) (effectDetail, error) {
	e, err := o.Ledger().Effect(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) {
		return effectDetail{}, noSuchEffect(key)
	}
	if err != nil {
		return effectDetail{}, err
	}
	detail := effectDetail{Effect: e}
	if detail.attempts, err = o.Ledger().Attempts(ctx, e.EffectID); err != nil {
		return effectDetail{}, err
	}
	if detail.transitions, err = o.Ledger().Transitions(ctx, e.EffectID); err != nil {
		return effectDetail{}, err
	}
	return detail, nil
}

func (c *cli) newEffectsShow() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show one effect, its attempts and its transitions",
		Long: `Show the effect of an idempotency key (hl_...), or of one it had before its key
was changed, with all its attempts: whether each was applied, what the receiver
answered, and what follows; and with every change of its state.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if body && c.asJSON {
				return misused("--body and --json exclude each other")
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				detail, err := loadEffect(cmd.Context(), o, args[0])
				if err != nil {
					return err
				}
				if body {
					return c.printEffectBody(cmd.Context(), o, detail.Effect)
				}
				if c.asJSON {
					return printJSON(c.stdout, plainjson.Joined{detail.Effect, effectHistory{detail.attempts, detail.transitions}})
				}
				c.printEffect(detail)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the exact bytes of the body that its attempts send, and nothing else")
	c.jsonFlag(cmd)
	return cmd
}

// printEffectBody writes what was sent, or will be (I7).
func (c *cli) printEffectBody(ctx context.Context, o *outbox.Outbox, e ledger.Effect) error {
	if !e.ErasedAt.IsZero() {
		return fmt.Errorf("the body of %s was taken away on %s: %s", e.IdempotencyKey, shown(e.ErasedAt), e.Error)
	}
	if e.Request.Late {
		return fmt.Errorf("the body of %s is rendered at its first attempt, which has not been made", e.IdempotencyKey)
	}
	err := o.Ledger().LoadBody(ctx, &e)
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("the body of %s is that of the delivery of %s, which is no longer stored", e.IdempotencyKey, e.Event)
	}
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(e.Request.Body)
	return err
}

func (c *cli) printEffect(d effectDetail) {
	e := d.Effect
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.stdout, "%-14s  %s\n", name, safetext.Shown(value))
		}
	}
	field("effect", e.IdempotencyKey)
	field("of", string(e.Scope)+" / "+string(e.Key)+generation(e.Generation))
	if e.Event != (identity.EventRef{}) {
		field("event", e.Event.String()+"  "+e.EventType)
	}
	if e.KeyRotations > 0 {
		field("key on wire", fmt.Sprintf("%s, changed %s", e.WireKey, counted(e.KeyRotations, "time")))
	}
	if e.OrderKey != "" {
		field("order", e.OrderKey+", parked ones "+whileParked(e.OnPark))
	}
	if e.LatestKey != "" {
		field("latest of", e.LatestKey+", occurred "+shown(e.OccurredAt))
	}
	field("superseded by", e.SupersededBy)
	field("destination", e.Destination+", "+strings.ReplaceAll(string(e.Policy), "_", " "))
	field("request", strings.TrimSpace(e.Request.Method+" "+e.Request.URL))
	field("state", string(e.State)+": "+meaning(e))
	attempts := strconv.Itoa(e.Attempt)
	if e.UncountedAttempts > 0 {
		attempts += fmt.Sprintf(", of which %d probes do not count", e.UncountedAttempts)
	}
	field("attempts", attempts)
	if !e.MaybeAppliedSince.IsZero() {
		field("maybe applied", "since "+shown(e.MaybeAppliedSince))
	}
	switch e.State {
	case ledger.EffectPending, ledger.EffectInDoubt:
		field("next attempt", shown(e.NextAttemptAt))
	case ledger.EffectStarted:
		field("lease until", shown(e.LeaseUntil))
	case ledger.EffectDone, ledger.EffectFailed, ledger.EffectParked, ledger.EffectCancelled:
		field("finished", shown(e.FinishedAt))
	}
	if e.ResponseStatus != 0 {
		field("last status", strconv.Itoa(e.ResponseStatus))
	}
	field("last answer", e.ResponseExcerpt)
	if e.ErasedAt.IsZero() {
		field("last error", e.Error)
	} else {
		field("content", e.Error+" on "+shown(e.ErasedAt))
	}
	c.printEffectTimeline(d)
	fmt.Fprintln(c.stdout, "\ntransitions")
	for _, t := range d.transitions {
		fmt.Fprintf(c.stdout, "  %s  %s\n", shown(t.At), transitionLine(t))
	}
}

// printEffectTimeline lists attempts, and what people ordered between them.
func (c *cli) printEffectTimeline(d effectDetail) {
	fmt.Fprintf(c.stdout, "\ntimeline\n  %s  created\n", shown(d.CreatedAt))
	orders := slices.DeleteFunc(slices.Clone(d.transitions), func(t ledger.Transition) bool { return !ordered(t) })
	ordersBefore := func(at time.Time) {
		for len(orders) > 0 && (at.IsZero() || orders[0].At.Before(at)) {
			fmt.Fprintf(c.stdout, "  %s  %s\n", shown(orders[0].At), transitionLine(orders[0]))
			orders = orders[1:]
		}
	}
	for _, a := range d.attempts {
		ordersBefore(a.StartedAt)
		fmt.Fprintf(c.stdout, "  %s  %s\n", shown(a.StartedAt), attemptLine(a))
		if a.ResponseExcerpt != "" {
			fmt.Fprintf(c.stdout, "  %s  answer: %s\n", strings.Repeat(" ", len(timeLayout)), safetext.Shown(a.ResponseExcerpt))
		}
	}
	ordersBefore(time.Time{})
	if d.State == ledger.EffectStarted {
		fmt.Fprintf(c.stdout, "  %s  attempt %d runs\n", shown(d.LastAttemptAt), d.Attempt)
	}
}

// ordered reports whether a transition is one that only a person orders: out of a
// state that nothing leaves by itself.
func ordered(t ledger.Transition) bool { return t.From != "" && t.From.Finished() }

// whileParked is what a parked effect means to those after it in its order.
func whileParked(on ledger.OnPark) string {
	if on == ledger.OnParkSkip {
		return "are skipped"
	}
	return "block"
}

// transitionLine is one change of state in a line.
func transitionLine(t ledger.Transition) string {
	line := string(t.To)
	if t.From != "" {
		line = string(t.From) + " -> " + line
	}
	if t.To == ledger.EffectStarted {
		line += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.Reason != "" {
		line += ": " + safetext.Shown(t.Reason)
	}
	return line
}

func generation(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", generation %d", n)
}

// meaning is what a state says about the effect.
func meaning(e ledger.Effect) string {
	switch e.State {
	case ledger.EffectPending:
		return "not applied so far, waits for an attempt"
	case ledger.EffectStarted:
		return "an attempt runs"
	case ledger.EffectDone:
		return "the receiver confirmed it"
	case ledger.EffectFailed:
		return "the receiver refused it for good"
	case ledger.EffectInDoubt:
		return "it may have been applied, and is tried again under the same key"
	case ledger.EffectParked:
		return "waits for a person: retry or cancel it"
	case ledger.EffectCancelled:
		if e.SupersededBy != "" {
			return "a newer one of the same object was applied before"
		}
		return "given up"
	}
	return ""
}

// attemptLine is one attempt in a line.
func attemptLine(a ledger.Attempt) string {
	parts := []string{fmt.Sprintf("attempt %d", a.Attempt)}
	if a.KeyRotation > 0 {
		parts = append(parts, fmt.Sprintf("key %d", a.KeyRotation+1))
	}
	if a.ResponseStatus != 0 {
		parts = append(parts, fmt.Sprintf("answered %d", a.ResponseStatus))
	}
	parts = append(parts, "applied: "+a.Applied, "then "+string(a.State))
	if took := a.FinishedAt.Sub(a.StartedAt); took > 0 && !a.Lost {
		parts = append(parts, took.Round(time.Millisecond).String())
	}
	line := strings.Join(parts, ", ")
	if a.Error != "" {
		line += "; " + safetext.Shown(a.Error)
	}
	return line
}
