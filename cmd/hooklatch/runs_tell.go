package main

import (
	"cmp"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// thing is what an order is about.
func thing(o runs.Order) string { return desk.By(o.Action).On.One() }

// countedOf is so many of what an order is about.
func countedOf(o runs.Order, n int64) string {
	if o.OfRefused() {
		return refusedCount(n)
	}
	return counted(int(n), thing(o))
}

// tell says what came of a run, to the person who looked on.
func (s *shift) tell(run runs.Run) error {
	if run.State != runs.Done {
		_, err := fmt.Fprintln(s.stdout, howFar(run))
		return err
	}
	fmt.Fprintln(s.stdout, changed(run, countedOf(run.Order, run.Changed)))
	run.WhyUnclear = cmp.Or(run.WhyUnclear, s.whyUnclear)
	s.printOutcome(run)
	return nil
}

// printOutcome says what a run came to and did not change.
func (c *cli) printOutcome(run runs.Run) {
	if run.Unfinished > 0 {
		fmt.Fprintf(c.stdout, "%d left out: something of them is unfinished, and --cancel gives it up\n", run.Unfinished)
	}
	c.printRefused(run.Refused)
	if moved := run.Moved(); moved > 0 {
		fmt.Fprintf(c.stdout, "%d left alone: something else happened to them meanwhile\n", moved)
	}
	c.printLeftOut(run.Order, run.Counts)
}

// howFar is "20 of 450 effects tried again".
func howFar(run runs.Run) string {
	what := countedOf(run.Order, run.Changed)
	if run.Total > 0 {
		what = fmt.Sprintf("%d of %s", run.Changed, countedOf(run.Order, run.Total))
	}
	return changed(run, what)
}

// changed says what was done to so many.
func changed(run runs.Run, what string) string {
	v := desk.By(run.Action)
	if v.TakesNewKeys {
		return fmt.Sprintf("%s %s, %s tried again", what, v.Past, counted(int(run.Reopened), "effect"))
	}
	if run.Action == quarantine.ActionRetry {
		return fmt.Sprintf("%s %s, %d of them known already", what, v.Past, run.Duplicates)
	}
	return what + " " + v.Past
}

// printLeftOut says what a selection has to do with and does not take.
func (c *cli) printLeftOut(o runs.Order, n runs.Counts) {
	switch {
	case n.InDoubt > 0 && o.InDoubt:
		fmt.Fprintf(c.stdout, "%d of them may have been applied already\n", n.InDoubt)
	case n.InDoubt > 0:
		fmt.Fprintf(c.stdout, "%d more may have been applied already and left out: --in-doubt with --reason takes them\n", n.InDoubt)
	}
	if n.Unrendered > 0 {
		fmt.Fprintf(c.stdout, "%d more left out: their requests could not be rendered, so replay their events instead\n", n.Unrendered)
	}
	if n.Bodiless > 0 {
		fmt.Fprintf(c.stdout, "%d more could not be looked at: their bodies are no longer kept, and their effects may still say what was in them\n", n.Bodiless)
	}
	if failed := n.Unclear - n.Bodiless; failed > 0 {
		whose := "their events"
		if o.OfEvents() {
			whose = "them"
		}
		why := ""
		if n.WhyUnclear != "" { // known while it is counted
			why = "; the first time: " + safetext.Shown(n.WhyUnclear)
		}
		fmt.Fprintf(c.stdout, "%d more left out: --when failed for %s%s\n", failed, whose, why)
	}
}
