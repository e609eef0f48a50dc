package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/pretty"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// runOrderOf is the order on a run that a URL names.
func (c *Console) runOrderOf(r *http.Request) (asked, error) {
	at := slices.IndexFunc(runOrders, func(o order) bool { return o.Name == r.PathValue("action") })
	if at < 0 {
		return asked{}, c.nowhere(nil, r)
	}
	run, err := c.readRun(r)
	if err != nil {
		return asked{}, err
	}
	id := strconv.FormatInt(run.ID, 10)
	what := asked{
		order: runOrders[at], Heading: runOrders[at].Button + " of run " + id + "?", Target: id, Of: nameOfRun(run) + ", " + pretty.Run(run.State).Word,
		Back: runPath(run.ID), noSuch: noSuchRun,
	}
	if run.State.Ended() && r.Method == http.MethodGet { // an order says why by itself
		return what, &runs.StateError{Action: runs.ActionStop, State: run.State}
	}
	if at != runPace {
		what.Heading = runOrders[at].Button + " run " + id + "?"
		return what, nil
	}
	what.Pace = "0"
	if run.PerSecond > 0 {
		what.Pace = strconv.FormatFloat(run.PerSecond, 'f', -1, 64)
	}
	what.do = func(c *Console, ctx context.Context, _ string, by ledger.Operator) error {
		pace, err := paceOf(r.PostForm)
		if err != nil {
			return err
		}
		return c.runs.SetPace(ctx, run.ID, pace, by)
	}
	return what, nil
}

func (c *Console) askRun(w http.ResponseWriter, r *http.Request) error {
	what, err := c.runOrderOf(r)
	if err != nil {
		return err
	}
	return c.ask(w, r, "runs", what)
}

func (c *Console) orderRun(w http.ResponseWriter, r *http.Request) error {
	what, err := c.runOrderOf(r)
	if err != nil {
		return err
	}
	return c.carryOut(w, r, "runs", what)
}
