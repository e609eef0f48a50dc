package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// eraser carries out an erasure and prints its result.
type eraser struct {
	*cli

	by     ledger.Operator
	cancel bool
}

// one erases one event. Unless yes is true, it only shows the event.
func (r *eraser) one(ctx context.Context, o *outbox.Outbox, ref identity.EventRef, yes bool) error {
	if !yes {
		e, err := o.Inbox().Recall(ctx, ref)
		if err != nil {
			return r.orNoSuchEvent(err, ref)
		}
		links, err := o.Ledger().EffectsOfEvent(ctx, ref)
		if err != nil {
			return err
		}
		if r.asJSON {
			return PrintJSON(r.Stdout, erasureView{Action: erasure.ActionEraseEvent, Target: ref.String(), Preview: true, Selected: 1})
		}
		_, err = fmt.Fprintf(r.Stdout, "%s, %s, received %s, with %s\nerase it with the same command and --yes\n",
			safetext.Shown(ref.String()), e.Outcome, shown(e.ReceivedAt), counted(len(links), "effect"))
		return err
	}
	erased, err := o.Erasure().Event(ctx, ref, r.by, erasure.Order{Cancel: r.cancel})
	if err != nil {
		return orCancel(r.orNoSuchEvent(err, ref))
	}
	if r.asJSON {
		return PrintJSON(r.Stdout, erasureView{
			Action: erasure.ActionEraseEvent, Target: ref.String(), Selected: 1, Erased: 1, Events: []string{ref.String()}, Kept: erased.Kept,
		})
	}
	r.printErased(ref, erased)
	return nil
}

// orCancel adds a hint about --cancel to the error of unfinished work.
func orCancel(err error) error {
	if _, unfinished := errors.AsType[*erasure.UnfinishedError](err); unfinished {
		return fmt.Errorf("%w; --cancel cancels and erases it", err)
	}
	return err
}

// erasedLine is the prefix of each line in the list for --again.
const erasedLine = "erased "

// printListed prints the line of an event in the list for --again. An id may contain a line break:
// such an id is quoted.
func (r *eraser) printListed(ref identity.EventRef) {
	fmt.Fprintf(r.Stdout, "%s%s\n", erasedLine, safetext.Shown(ref.String()))
}

func (r *eraser) printErased(ref identity.EventRef, erased erasure.Erased) {
	r.printListed(ref)
	if erased.Remains {
		fmt.Fprintf(r.Stderr, "%s: its bytes cannot be separated from the bytes of %s in the same delivery, and are kept until those are erased too\n",
			safetext.Shown(ref.String()), counted(erased.Others, "other event"))
	}
	for _, k := range erased.Kept {
		fmt.Fprintf(r.Stderr, "%s: kept although it contains erased data: the %s %s\n", safetext.Shown(ref.String()), k.Where, safetext.Shown(k.Text))
	}
}

// erasureView is the result of an erasure, as --json prints it.
type erasureView struct {
	Action     ledger.Action  `json:"action"`
	Target     string         `json:"target,omitempty"` // event or effect; empty if many were selected
	Preview    bool           `json:"preview"`          // if true, nothing was done
	Run        int64          `json:"run,omitempty"`
	Selected   int64          `json:"selected"`
	Erased     int64          `json:"erased"`
	Unfinished int64          `json:"unfinished"` // unfinished, and therefore left out
	Unclear    int64          `json:"unclear"`    // left out because --when failed
	WhyUnclear string         `json:"why_unclear,omitempty"`
	Bodiless   int64          `json:"bodiless"` // left out because the body is no longer kept
	Unknown    int64          `json:"unknown"`  // in the list, but not found
	Stopped    bool           `json:"stopped"`
	Events     []string       `json:"events,omitempty"` // erased events
	Sample     []string       `json:"sample,omitempty"`
	Kept       []erasure.Kept `json:"kept,omitempty"` // ids and keys that contain erased data
}

// erasurePreview converts the preview of a run to the form in which --json prints it.
func erasurePreview(v runs.Preview) erasureView {
	view := viewOfErasure(v.Counts)
	view.Preview = true
	for _, e := range v.Sample {
		view.Sample = append(view.Sample, e.Event.String())
	}
	return view
}

func viewOfErasure(n runs.Counts) erasureView {
	view := erasureView{
		Action: erasure.ActionEraseEvent, Selected: n.Selected, Erased: n.Changed, Unfinished: n.Unfinished,
		Unclear: n.Unclear - n.Bodiless, Bodiless: n.Bodiless,
	}
	if view.Unclear > 0 {
		view.WhyUnclear = n.WhyUnclear
	}
	return view
}

// many erases a selection. If the run is interrupted or fails, many still prints the result.
// Without --json, it writes the list of erased events to standard output. The events that it erases
// itself come first, and the events that other processes erased come at the end.
func (r *eraser) many(ctx context.Context, o *outbox.Outbox, m manyOrder) error {
	all := runsOf(o)
	m.order.Name, m.order.PerSecond = m.label, m.rate
	counted, run, err := m.begin(ctx, all)
	if err != nil {
		return err
	}
	var kept []erasure.Kept
	told := map[identity.EventRef]bool{}
	s := shift{cli: r.cli, runs: all, by: r.by, whyUnclear: counted.WhyUnclear, seen: func(at runs.Run) {
		for _, e := range at.Erased {
			if kept = append(kept, e.Kept...); !r.asJSON {
				r.printErased(e.Event, e.Erased)
			}
			told[e.Event] = true
		}
	}}
	run, err = s.work(ctx, run)
	erased, listErr := o.Erasure().OfRun(context.WithoutCancel(ctx), run.ID)
	err = errors.Join(err, listErr)
	if r.asJSON {
		run.WhyUnclear = counted.WhyUnclear
		view := viewOfErasure(run.Counts)
		view.Run, view.Kept, view.Stopped = run.ID, kept, run.State != runs.Done
		for _, ref := range erased {
			view.Events = append(view.Events, ref.String())
		}
		return errors.Join(err, PrintJSON(r.Stdout, view))
	}
	for _, ref := range erased {
		if !told[ref] {
			r.printListed(ref)
		}
	}
	aside := *r.cli // a copy, because the summary is not part of the list
	aside.Stdout = r.Stderr
	s.cli = &aside
	return errors.Join(err, s.tell(run))
}

// list prints the events that a run has erased so far, in the format in which the run prints them.
func (r *eraser) list(ctx context.Context, o *outbox.Outbox, id int64) error {
	run, err := o.Runs().Get(ctx, id)
	if err != nil {
		return r.ofRun(id, err)
	}
	if run.Action != erasure.ActionEraseEvent {
		return misused("run %d is not an erasure: its action is %s", id, safetext.Shown(run.Words()))
	}
	erased, err := o.Erasure().OfRun(ctx, id)
	if err != nil {
		return err
	}
	if r.asJSON {
		view := viewOfErasure(run.Counts)
		view.Run, view.Stopped = id, run.State != runs.Done
		for _, ref := range erased {
			view.Events = append(view.Events, ref.String())
		}
		return PrintJSON(r.Stdout, view)
	}
	for _, ref := range erased {
		r.printListed(ref)
	}
	return nil
}
