package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// eraseRun is an order to erase, and how it is told.
type eraseRun struct {
	*cli

	by     ledger.Operator
	cancel bool
}

// one erases an event that was named.
func (r *eraseRun) one(ctx context.Context, o *outbox.Outbox, ref identity.EventRef, yes bool) error {
	if !yes {
		e, err := o.Inbox().Event(ctx, ref)
		if err != nil {
			return orNoSuchEvent(err, ref)
		}
		links, err := o.Ledger().EffectsOfEvent(ctx, ref)
		if err != nil {
			return err
		}
		if r.asJSON {
			return printJSON(r.stdout, erasureView{Action: erasure.ActionEraseEvent, Target: ref.String(), Preview: true, Selected: 1})
		}
		_, err = fmt.Fprintf(r.stdout, "%s, %s, received %s, with %s\nerase it with the same command and --yes\n",
			safetext.Shown(ref.String()), e.Outcome, shown(e.ReceivedAt), counted(len(links), "effect"))
		return err
	}
	erased, err := o.Erasure().Event(ctx, ref, r.by, erasure.Order{Cancel: r.cancel})
	if err != nil {
		return orCancel(orNoSuchEvent(err, ref))
	}
	if r.asJSON {
		return printJSON(r.stdout, erasureView{
			Action: erasure.ActionEraseEvent, Target: ref.String(), Selected: 1, Erased: 1, Events: []string{ref.String()}, Kept: erased.Kept,
		})
	}
	r.printErased(ref, erased)
	return nil
}

// orCancel says what is to be done about what is unfinished.
func orCancel(err error) error {
	if _, unfinished := errors.AsType[*erasure.UnfinishedError](err); unfinished {
		return fmt.Errorf("%w; --cancel gives it up and erases it", err)
	}
	return err
}

// erasedLine begins each line of the list that --again takes.
const erasedLine = "erased "

func (r *eraseRun) printErased(ref identity.EventRef, erased erasure.Erased) {
	fmt.Fprintf(r.stdout, "%s%s\n", erasedLine, ref)
	if erased.Remains {
		fmt.Fprintf(r.stderr, "%s: its bytes stay until the other %s of its delivery erased too: nothing tells them apart\n",
			safetext.Shown(ref.String()), counted(erased.Others, "event"))
	}
	for _, k := range erased.Kept {
		fmt.Fprintf(r.stderr, "%s: stays and has in it what was erased: the %s %s\n", safetext.Shown(ref.String()), k.Where, safetext.Shown(k.Text))
	}
}

// erasureView is an erasure as --json prints it.
type erasureView struct {
	Action     ledger.Action  `json:"action"`
	Target     string         `json:"target,omitempty"` // the event or effect, unless many were selected
	Preview    bool           `json:"preview"`          // nothing was done
	Selected   int64          `json:"selected"`
	Erased     int64          `json:"erased"`
	Unfinished int64          `json:"unfinished"` // left out
	Unclear    int64          `json:"unclear"`    // left out: --when failed for them
	WhyUnclear string         `json:"why_unclear,omitempty"`
	Bodiless   int64          `json:"bodiless"` // left out: their bodies are no longer kept
	Unknown    int64          `json:"unknown"`  // of a list: there is no such event
	Stopped    bool           `json:"stopped"`
	Events     []string       `json:"events,omitempty"` // that were erased
	Sample     []string       `json:"sample,omitempty"`
	Kept       []erasure.Kept `json:"kept,omitempty"` // stay and have in them what was erased
}

func viewOfErasure(p erasure.Progress) erasureView {
	return erasureView{
		Action: erasure.ActionEraseEvent, Selected: p.Selected, Erased: p.Erased, Unfinished: p.Unfinished,
		Unclear: p.Unclear, WhyUnclear: inWords(p.WhyUnclear), Bodiless: p.Bodiless,
	}
}

func (r *eraseRun) preview(ctx context.Context, o *outbox.Outbox, asked find.Events) error {
	progress := r.eachSecond()
	found, err := o.Erasure().With(finder(o)).Preview(ctx, asked, func(at erasure.Progress) { progress("counting: %s so far\n", counted(int(at.Selected), "event")) })
	if err != nil {
		return err
	}
	if r.asJSON {
		view := viewOfErasure(found)
		view.Preview = true
		for _, e := range found.Sample {
			view.Sample = append(view.Sample, e.String())
		}
		return printJSON(r.stdout, view)
	}
	fmt.Fprintf(r.stdout, "%s selected\n", counted(int(found.Selected), "event"))
	r.printLeftOut(r.stdout, found)
	if found.Selected == 0 {
		return nil
	}
	fmt.Fprintln(r.stdout)
	t := newTable(r.stdout, "RECEIVED", "EVENT", "TYPE", "STATE")
	for _, e := range found.Sample {
		t.row(shown(e.ReceivedAt), e.String(), e.Type, string(e.Outcome))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if more := found.Selected - int64(len(found.Sample)); more > 0 {
		fmt.Fprintf(r.stdout, "and %d more\n", more)
	}
	_, err = fmt.Fprintln(r.stdout, "\nerase them with the same command and --yes")
	return err
}

// printLeftOut says what may still have what was looked for.
func (r *eraseRun) printLeftOut(to io.Writer, p erasure.Progress) {
	if p.Unfinished > 0 {
		fmt.Fprintf(to, "%d left out: something of them is unfinished, and --cancel gives it up; the first: %s\n",
			p.Unfinished, safetext.Shown(inWords(p.WhyUnfinished)))
	}
	if p.Unclear > 0 {
		fmt.Fprintf(to, "%d more left out: --when failed for them; the first time: %s\n", p.Unclear, safetext.Shown(inWords(p.WhyUnclear)))
	}
	if p.Bodiless > 0 {
		fmt.Fprintf(to, "%d more could not be looked at: their bodies are no longer kept, and their effects may still say what was in them; "+
			"select those without --when\n", p.Bodiless)
	}
}

// many says how far it came, also when it was interrupted or failed. The list is what
// it writes to standard output.
func (r *eraseRun) many(ctx context.Context, o *outbox.Outbox, asked find.Events, order erasure.Order) error {
	progress := r.eachSecond()
	var view erasureView
	done, err := o.Erasure().With(finder(o)).Many(ctx, asked, r.by, order, func(ref identity.EventRef, erased erasure.Erased) {
		if r.asJSON {
			view.Events = append(view.Events, ref.String())
			view.Kept = append(view.Kept, erased.Kept...)
			return
		}
		r.printErased(ref, erased)
	}, func(at erasure.Progress) { progress("%s erased\n", counted(int(at.Erased), "event")) })
	if r.asJSON {
		events, kept := view.Events, view.Kept
		view = viewOfErasure(done)
		view.Events, view.Kept, view.Stopped = events, kept, err != nil
		return errors.Join(err, printJSON(r.stdout, view))
	}
	fmt.Fprintf(r.stderr, "%s erased\n", counted(int(done.Erased), "event"))
	r.printLeftOut(r.stderr, done)
	return err
}
