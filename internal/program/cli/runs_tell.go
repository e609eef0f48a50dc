package cli

import (
	"cmp"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// thing returns the word for one object of a run.
func thing(o runs.Order) string { return desk.By(o.Action).On.One() }

// countedOf formats a number of a run's objects.
func countedOf(o runs.Order, n int64) string {
	if o.OfRefused() {
		return refusedCount(n)
	}
	return counted(int(n), thing(o))
}

// tell prints the result of a run, or only its progress if the run is not done.
func (s *shift) tell(run runs.Run) error {
	if run.State != runs.Done {
		_, err := fmt.Fprintln(s.Stdout, howFar(run))
		return err
	}
	fmt.Fprintln(s.Stdout, changed(run, countedOf(run.Order, run.Changed)))
	run.WhyUnclear = cmp.Or(run.WhyUnclear, s.whyUnclear)
	s.printOutcome(run)
	return nil
}

// printOutcome prints how many of a run's selected objects were left out, refused or possibly
// applied already, and why.
func (c *cli) printOutcome(run runs.Run) {
	if run.Unfinished > 0 {
		fmt.Fprintf(c.Stdout, "%d left out: they have unfinished work, which --cancel cancels\n", run.Unfinished)
	}
	c.printRefused(run.Refused)
	if moved := run.Moved(); moved > 0 {
		fmt.Fprintf(c.Stdout, "%d left out: they changed before the run reached them\n", moved)
	}
	c.printLeftOut(run.Order, run.Counts)
}

// howFar formats progress as "20 of 450 effects tried again".
func howFar(run runs.Run) string {
	what := countedOf(run.Order, run.Changed)
	if run.Total > 0 {
		what = fmt.Sprintf("%d of %s", run.Changed, countedOf(run.Order, run.Total))
	}
	return changed(run, what)
}

// changed appends the result of a run to the text what, which is a number of objects, such as "2
// events". It returns, for example, "2 events replayed, 1 effect tried again".
func changed(run runs.Run, what string) string {
	v := desk.By(run.Action)
	if v.TakesNewKeys {
		return fmt.Sprintf("%s %s, %s tried again", what, v.Past, counted(int(run.Reopened), "effect"))
	}
	if run.Action == quarantine.ActionRetry {
		return fmt.Sprintf("%s %s, including %s", what, v.Past, counted(int(run.Duplicates), "duplicate"))
	}
	return what + " " + v.Past
}

// printLeftOut prints how many matches a selection leaves out, and why. With --in-doubt it prints
// how many included effects may have been applied already.
func (c *cli) printLeftOut(o runs.Order, n runs.Counts) {
	switch {
	case n.InDoubt > 0 && o.InDoubt:
		fmt.Fprintf(c.Stdout, "%d of them possibly applied already\n", n.InDoubt)
	case n.InDoubt > 0:
		fmt.Fprintf(c.Stdout, "%d more left out: possibly applied already; to include, add --in-doubt and --reason\n", n.InDoubt)
	}
	if n.Unrendered > 0 {
		fmt.Fprintf(c.Stdout, "%d more left out: request could not be rendered; replay the event instead\n", n.Unrendered)
	}
	if n.Bodiless > 0 {
		fmt.Fprintf(c.Stdout, "%d more could not be searched: body no longer stored, but an effect may still contain the text\n", n.Bodiless)
	}
	if failed := n.Unclear - n.Bodiless; failed > 0 {
		whose := " for the event"
		if o.OfEvents() {
			whose = ""
		}
		why := ""
		if n.WhyUnclear != "" { // a run does not store the error
			why = "; first error: " + safetext.Shown(n.WhyUnclear)
		}
		fmt.Fprintf(c.Stdout, "%d more left out: --when failed%s%s\n", failed, whose, why)
	}
}
