package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
)

// effectDetail is an effect with its attempts.
type effectDetail struct {
	outbox.Effect

	attempts   []outbox.Attempt
	suppressed bool // for the event it is shown with
}

func loadEffect(ctx context.Context, o *outbox.Outbox, key string) (effectDetail, error) {
	e, err := o.Effect(ctx, key)
	if errors.Is(err, outbox.ErrNotFound) {
		return effectDetail{}, fmt.Errorf("there is no effect with the key %s", printable(key))
	}
	if err != nil {
		return effectDetail{}, err
	}
	attempts, err := o.Attempts(ctx, e.EffectID)
	return effectDetail{Effect: e, attempts: attempts}, err
}

func newEffectsShow(p *process, g *globals, database *databaseFlag) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show one effect and all its attempts",
		Long:  "Show the effect of an idempotency key (hl_...) and all its attempts: whether\neach was applied, what the receiver answered, and what follows.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
				detail, err := loadEffect(cmd.Context(), o, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.stdout, viewOfDetail(detail))
				}
				p.printEffect(detail)
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func viewOfDetail(d effectDetail) effectView {
	view := viewOfEffect(d.Effect)
	view.Attempts = []attemptView{}
	for _, a := range d.attempts {
		view.Attempts = append(view.Attempts, attemptView{
			Attempt: a.Attempt, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt, Applied: a.Applied, Lost: a.Lost, State: a.State,
			ResponseStatus: a.ResponseStatus, ResponseExcerpt: a.ResponseExcerpt, Error: a.Error, JobID: a.JobID,
		})
	}
	return view
}

func (p *process) printEffect(d effectDetail) {
	e := d.Effect
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(p.stdout, "%-14s  %s\n", name, printable(value))
		}
	}
	field("effect", e.IdempotencyKey)
	field("of", e.Scope+" / "+e.Key+generation(e.Generation))
	if e.Event != (outbox.EventRef{}) {
		field("event", e.Event.String()+"  "+e.EventType)
	}
	field("destination", e.Destination+", "+strings.ReplaceAll(string(e.Policy), "_", " "))
	field("request", strings.TrimSpace(e.Request.Method+" "+e.Request.URL))
	field("state", string(e.State)+": "+meaning(e))
	field("attempts", strconv.Itoa(e.Attempt))
	if !e.MaybeAppliedSince.IsZero() {
		field("maybe applied", "since "+shown(e.MaybeAppliedSince))
	}
	switch e.State {
	case outbox.EffectPending, outbox.EffectInDoubt:
		field("next attempt", shown(e.NextAttemptAt))
	case outbox.EffectStarted:
		field("lease until", shown(e.LeaseUntil))
	case outbox.EffectDone, outbox.EffectFailed, outbox.EffectParked, outbox.EffectCancelled:
		field("finished", shown(e.FinishedAt))
	}
	if e.ResponseStatus != 0 {
		field("last status", strconv.Itoa(e.ResponseStatus))
	}
	field("last answer", e.ResponseExcerpt)
	field("last error", e.Error)
	fmt.Fprintf(p.stdout, "\ntimeline\n  %s  created\n", shown(e.CreatedAt))
	for _, a := range d.attempts {
		fmt.Fprintf(p.stdout, "  %s  %s\n", shown(a.StartedAt), attemptLine(a))
		if a.ResponseExcerpt != "" {
			fmt.Fprintf(p.stdout, "  %s  answer: %s\n", strings.Repeat(" ", len(timeLayout)), printable(a.ResponseExcerpt))
		}
	}
	if e.State == outbox.EffectStarted {
		fmt.Fprintf(p.stdout, "  %s  attempt %d runs\n", shown(e.LastAttemptAt), e.Attempt)
	}
}

func generation(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", generation %d", n)
}

// meaning is what a state says about the effect.
func meaning(e outbox.Effect) string {
	switch e.State {
	case outbox.EffectPending:
		return "not applied so far, waits for an attempt"
	case outbox.EffectStarted:
		return "an attempt runs"
	case outbox.EffectDone:
		return "the receiver confirmed it"
	case outbox.EffectFailed:
		return "the receiver refused it for good"
	case outbox.EffectInDoubt:
		return "it may have been applied, and is tried again under the same key"
	case outbox.EffectParked:
		return "waits for a person: retry or cancel it"
	case outbox.EffectCancelled:
		return "a person gave it up"
	}
	return ""
}

// attemptLine is one attempt in a line.
func attemptLine(a outbox.Attempt) string {
	parts := []string{fmt.Sprintf("attempt %d", a.Attempt)}
	if a.ResponseStatus != 0 {
		parts = append(parts, fmt.Sprintf("answered %d", a.ResponseStatus))
	}
	parts = append(parts, "applied: "+a.Applied, "then "+string(a.State))
	if took := a.FinishedAt.Sub(a.StartedAt); took > 0 && !a.Lost {
		parts = append(parts, took.Round(time.Millisecond).String())
	}
	line := strings.Join(parts, ", ")
	if a.Error != "" {
		line += "; " + printable(a.Error)
	}
	return line
}
