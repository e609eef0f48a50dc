package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// effectsRun is an order about many effects and how it is told.
type effectsRun struct {
	*cli

	cmd       *cobra.Command
	action    effectAction
	selection ledger.EffectSelection
}

// manyView is an order about many effects as --json prints it.
type manyView struct {
	Action     ledger.Action `json:"action"`
	Preview    bool          `json:"preview"` // nothing was done
	AsOf       time.Time     `json:"as_of"`
	Selected   int64         `json:"selected"`
	Changed    int64         `json:"changed"`
	InDoubt    int64         `json:"in_doubt"`   // among the selected with --in-doubt, left out without
	Unrendered int64         `json:"unrendered"` // left out
	Unclear    int64         `json:"unclear"`    // left out: --when failed for their events
	WhyUnclear string        `json:"why_unclear,omitempty"`
	Stopped    bool          `json:"stopped"`
	Command    string        `json:"command,omitempty"` // does it, or the rest of it
	Sample     []sampleView  `json:"sample,omitempty"`
}

type sampleView struct {
	IdempotencyKey string             `json:"idempotency_key"`
	Destination    string             `json:"destination"`
	Route          string             `json:"route,omitempty"`
	Source         string             `json:"source,omitempty"`
	EventID        string             `json:"event_id,omitempty"`
	State          ledger.EffectState `json:"state"`
	Attempt        int                `json:"attempt"`
	CreatedAt      time.Time          `json:"created_at"`
	ResponseStatus int                `json:"response_status,omitempty"`
	Error          string             `json:"error,omitempty"`
}

func viewOfMany(a effectAction, v ledger.EffectsPreview) manyView {
	view := manyView{
		Action: a.action, AsOf: v.AsOf, Selected: v.Selected, InDoubt: v.InDoubt, Unrendered: v.Unrendered,
		Unclear: v.Unclear, WhyUnclear: inWords(v.WhyUnclear),
	}
	for _, e := range v.Sample {
		view.Sample = append(view.Sample, sampleView{
			IdempotencyKey: e.IdempotencyKey, Destination: e.Destination, Route: e.Route, Source: string(e.Event.Source), EventID: string(e.Event.EventID),
			State: e.State, Attempt: e.Attempt, CreatedAt: e.CreatedAt, ResponseStatus: e.ResponseStatus, Error: e.Error,
		})
	}
	return view
}

// count walks the selection once. From then on its end is fixed.
func (r *effectsRun) count(ctx context.Context, o *outbox.Outbox) (ledger.EffectsPreview, error) {
	progress := r.eachSecond()
	v, err := o.Ledger().PreviewEffects(ctx, r.action.action, r.selection, func(at ledger.EffectsProgress) {
		progress("counting: %s so far\n", counted(int(at.Selected), "effect"))
	})
	r.selection.AsOf = v.AsOf
	return v, err
}

func (r *effectsRun) preview(ctx context.Context, o *outbox.Outbox) error {
	v, err := r.count(ctx, o)
	if err != nil {
		return err
	}
	command := commandFor(r.cmd, r.selection)
	if r.asJSON {
		view := viewOfMany(r.action, v)
		view.Preview, view.Command = true, command
		return printJSON(r.stdout, view)
	}
	fmt.Fprintf(r.stdout, "%s selected\n", counted(int(v.Selected), "effect"))
	r.printLeftOut(v)
	if v.Selected == 0 {
		return nil
	}
	fmt.Fprintln(r.stdout)
	t := newTable(r.stdout, "CREATED", "EFFECT", "DESTINATION", "EVENT", "STATE", "LAST")
	for _, e := range v.Sample {
		t.row(shown(e.CreatedAt), e.IdempotencyKey, e.Destination, causeOf(e.Event), string(e.State),
			lastOf(ledger.Effect{ResponseStatus: e.ResponseStatus, Error: e.Error}))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if more := v.Selected - int64(len(v.Sample)); more > 0 {
		fmt.Fprintf(r.stdout, "and %d more\n", more)
	}
	_, err = fmt.Fprintf(r.stdout, "\n%s them with:\n  %s\n", r.action.verb, command)
	return err
}

// printLeftOut says what the selection has to do with and does not take.
func (r *effectsRun) printLeftOut(v ledger.EffectsPreview) {
	switch {
	case v.InDoubt > 0 && r.selection.InDoubt:
		fmt.Fprintf(r.stdout, "%d of them may have been applied already\n", v.InDoubt)
	case v.InDoubt > 0:
		fmt.Fprintf(r.stdout, "%d more may have been applied already and left out: --in-doubt with --reason takes them\n", v.InDoubt)
	}
	if v.Unrendered > 0 {
		fmt.Fprintf(r.stdout, "%d more left out: their requests could not be rendered, so replay their events instead\n", v.Unrendered)
	}
	if v.Unclear > 0 {
		fmt.Fprintf(r.stdout, "%d more left out: --when failed for their events; the first time: %s\n", v.Unclear, safetext.Shown(inWords(v.WhyUnclear)))
	}
}

// do says how far it came, also when it was interrupted or failed.
func (r *effectsRun) do(ctx context.Context, o *outbox.Outbox, by ledger.Operator, rate float64) error {
	total, err := r.count(ctx, o)
	if err != nil {
		return err
	}
	progress := r.eachSecond()
	done, err := o.Ledger().ActOnEffects(ctx, r.action.action, r.selection, by, ledger.EffectsPace{PerSecond: rate, Progress: func(at ledger.EffectsProgress) {
		progress("%d of %s %s\n", at.Changed, counted(int(total.Selected), "effect"), r.action.done)
	}})
	rest := ""
	if err != nil {
		rest = commandFor(r.cmd, r.selection)
	}
	if r.asJSON {
		view := viewOfMany(r.action, total)
		view.Sample = nil
		view.Changed, view.Stopped, view.Command = done.Changed, err != nil, rest
		return errors.Join(err, printJSON(r.stdout, view))
	}
	if err != nil {
		fmt.Fprintf(r.stdout, "%d of %s %s\n", done.Changed, counted(int(total.Selected), "effect"), r.action.done)
		fmt.Fprintf(r.stderr, "stopped; go on with the rest:\n  %s\n", rest)
		return err
	}
	fmt.Fprintf(r.stdout, "%s %s\n", counted(int(done.Changed), "effect"), r.action.done)
	if moved := done.Selected - done.Changed; moved > 0 {
		fmt.Fprintf(r.stdout, "%d left alone: something else happened to them meanwhile\n", moved)
	}
	r.printLeftOut(total)
	return nil
}
