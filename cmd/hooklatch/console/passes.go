package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// shownPasses is how many passes over the list of a provider are shown.
const shownPasses = 10

var sourceOrders = []order{
	{
		Name: "backfill", Button: "Run now", Done: "Ordered and recorded: a worker reads the list within a minute, or when the pass at work has ended.",
		Means: "A worker reads the list of the provider now, as it does on schedule, and fetches what is missing; with mode: report it only counts. " +
			"A pass at work goes on, and the next one begins right after it. A pause that the provider asked for is kept.",
		do: func(c *Console, ctx context.Context, name string, by ledger.Operator) error {
			return c.opts.Outbox.Coverage().RunNow(ctx, identity.Source(name), by)
		},
	},
}

// Orders are what can be ordered now.
func (s shownSource) Orders() []order {
	if s.Backfill == nil {
		return nil
	}
	return sourceOrders
}

// passesOf are the last passes over the lists of a source, the newest first.
func (c *Console) passesOf(ctx context.Context, of shownSource) ([]coverage.Run, error) {
	if of.Backfill == nil {
		return nil, nil
	}
	return c.opts.Outbox.Coverage().Runs(ctx, identity.Source(of.Name), shownPasses)
}

// ByAccount reports whether the source has several lists.
func (p sourcePage) ByAccount() bool {
	return slices.ContainsFunc(p.Passes, func(r coverage.Run) bool { return r.Name != "" })
}

func noSuchList(source string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "There is no list to read",
		text: fmt.Sprintf("No worker has read a list for a source %s: one does when the source has backfill in its configuration.", source),
	}
}

// sourceOrderOf is the order that a URL names.
func (c *Console) sourceOrderOf(r *http.Request) (asked, error) {
	name := r.PathValue("name")
	at := slices.IndexFunc(sourceOrders, func(o order) bool { return o.Name == r.PathValue("action") })
	if at < 0 {
		return asked{}, c.nowhere(nil, r)
	}
	return asked{
		order: sourceOrders[at], Heading: "Read the list of this source now?", Target: name, Of: name, Back: sourcePath(name), noSuch: noSuchList,
	}, nil
}

func (c *Console) askSource(w http.ResponseWriter, r *http.Request) error {
	what, err := c.sourceOrderOf(r)
	if err != nil {
		return err
	}
	list, err := c.readSources(r.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(s shownSource) bool { return s.Name == what.Target && s.Backfill != nil }) {
		return noSuchList(what.Target)
	}
	return c.ask(w, r, "sources", what)
}

func (c *Console) orderSource(w http.ResponseWriter, r *http.Request) error {
	what, err := c.sourceOrderOf(r)
	if err != nil {
		return err
	}
	return c.carryOut(w, r, "sources", what)
}
