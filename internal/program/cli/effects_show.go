package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newEffectsShow() *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show one effect with its attempts and transitions",
		Long: `Show the effect that has this idempotency key (hl_...), or had it before its key was
changed. The output lists every change of the effect's state, and every attempt with the
receiver's response, whether the effect was applied, and the next step.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if body && c.asJSON {
				return misused("--body and --json exclude each other")
			}
			return c.showOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				effect, err := life.ReadEffect(cmd.Context(), o, args[0])
				if errors.Is(err, ledger.ErrNotFound) {
					return c.noSuchEffect(args[0])
				}
				if err != nil {
					return err
				}
				if body {
					return c.printEffectBody(cmd.Context(), o, effect.Effect)
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, effect.Data())
				}
				c.printEffect(effect)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write only the exact bytes of the body that attempts send")
	c.jsonFlag(cmd)
	return cmd
}

// printEffectBody writes the body that attempts send (I7).
func (c *cli) printEffectBody(ctx context.Context, o *outbox.Outbox, e ledger.Effect) error {
	if !e.ErasedAt.IsZero() {
		return fmt.Errorf("the body of %s was removed on %s: %s", e.IdempotencyKey, shown(e.ErasedAt), e.Error)
	}
	if e.Request.Late {
		return fmt.Errorf("the body of %s does not exist yet: it is rendered at the first attempt", e.IdempotencyKey)
	}
	err := o.Ledger().LoadBody(ctx, &e)
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("the body of %s is the body of the delivery of %s, which is no longer stored", e.IdempotencyKey, safetext.Shown(e.Event.String()))
	}
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write(e.Request.Body)
	return err
}

func (c *cli) printEffect(d life.Effect) {
	e := d.Effect
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Stdout, "%-14s  %s\n", name, safetext.Shown(value))
		}
	}
	field("effect", e.IdempotencyKey)
	field("identity", string(e.Scope)+" / "+string(e.Key)+generation(e.Generation))
	if e.Event != (identity.EventRef{}) {
		field("event", e.Event.String()+"  "+e.EventType)
	}
	if e.KeyRotations > 0 {
		field("key on wire", fmt.Sprintf("%s, changed %s", e.WireKey, counted(e.KeyRotations, "time")))
	}
	if e.OrderKey != "" {
		field("order", e.OrderKey+", parked effects "+whileParked(e.OnPark))
	}
	if e.LatestKey != "" {
		field("latest of", e.LatestKey+", occurred "+shown(e.OccurredAt))
	}
	field("superseded by", e.SupersededBy)
	field("resent from", e.ResentFrom())
	field("resent as", strings.Join(d.ResentAs, ", "))
	field("destination", e.Destination+", "+strings.ReplaceAll(string(e.Policy), "_", " "))
	field("request", strings.TrimSpace(e.Request.Method+" "+e.Request.URL))
	field("state", string(e.State)+": "+life.Meaning(e))
	attempts := strconv.Itoa(e.Attempt)
	if e.UncountedAttempts > 0 {
		do := "do"
		if e.UncountedAttempts == 1 {
			do = "does"
		}
		attempts += fmt.Sprintf(", including %s that %s not count", counted(e.UncountedAttempts, "probe"), do)
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
	field("last response", e.ResponseExcerpt)
	if e.ErasedAt.IsZero() {
		field("last error", e.Error)
	} else {
		field("content", e.Error+" on "+shown(e.ErasedAt))
	}
	c.printEffectTimeline(d)
	fmt.Fprintln(c.Stdout, "\ntransitions")
	for _, t := range d.Transitions {
		fmt.Fprintf(c.Stdout, "  %s  %s\n", shown(t.At), life.TransitionLine(t))
	}
}

// printEffectTimeline prints the attempts and the operator actions in chronological order.
func (c *cli) printEffectTimeline(d life.Effect) {
	fmt.Fprintf(c.Stdout, "\ntimeline\n  %s  created\n", shown(d.CreatedAt))
	orders := slices.DeleteFunc(slices.Clone(d.Transitions), func(t ledger.Transition) bool { return !life.Ordered(t) })
	ordersBefore := func(at time.Time) {
		for len(orders) > 0 && (at.IsZero() || orders[0].At.Before(at)) {
			fmt.Fprintf(c.Stdout, "  %s  %s\n", shown(orders[0].At), life.TransitionLine(orders[0]))
			orders = orders[1:]
		}
	}
	for _, a := range d.Attempts {
		ordersBefore(a.StartedAt)
		fmt.Fprintf(c.Stdout, "  %s  %s\n", shown(a.StartedAt), life.AttemptLine(a))
		if a.ResponseExcerpt != "" {
			fmt.Fprintf(c.Stdout, "  %s  response: %s\n", strings.Repeat(" ", len(timeLayout)), safetext.Shown(a.ResponseExcerpt))
		}
	}
	ordersBefore(time.Time{})
	if d.State == ledger.EffectStarted {
		fmt.Fprintf(c.Stdout, "  %s  attempt %d is running\n", shown(d.LastAttemptAt), d.Attempt)
	}
}

// whileParked describes how a parked effect affects the later effects in its order.
func whileParked(on ledger.OnPark) string {
	if on == ledger.OnParkSkip {
		return "are skipped"
	}
	return "block later effects"
}

func generation(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", generation %d", n)
}
