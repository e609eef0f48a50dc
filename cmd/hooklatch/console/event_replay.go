package console

import (
	"context"
	"net/http"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

var replayOrder = order{
	Name: "replay", Button: "Replay", Done: "Replay ordered and recorded.",
	Means: "It is dispatched once more, by the routes of today. Effects that are done stay done; those that are not are tried again under their old keys.",
}

// replayOrderOf is the order to replay the event that a URL names.
func (c *Console) replayOrderOf(r *http.Request) (asked, error) {
	e, err := c.readEvent(r)
	if err != nil {
		return asked{}, err
	}
	what := asked{
		order: replayOrder, Heading: "Replay this event?", Target: e.EventRef.String(), Of: e.EventRef.String() + ", " + string(e.Outcome),
		Back: eventPath(e.EventRef), At: eventPart(e.EventRef, "/replay"), NewKeys: true,
		noSuch: func(string) *problem { return noSuchEvent(e.EventRef) },
	}
	what.do = func(c *Console, ctx context.Context, _ string, by ledger.Operator) error {
		_, err := c.inbox.Replay(ctx, e.EventRef, by, inbox.ReplayOptions{NewKeys: r.PostForm.Get("new_keys") != ""})
		return err
	}
	return what, nil
}

func (c *Console) askReplay(w http.ResponseWriter, r *http.Request) error {
	what, err := c.replayOrderOf(r)
	if err != nil {
		return err
	}
	return c.ask(w, r, "events", what)
}

func (c *Console) orderReplay(w http.ResponseWriter, r *http.Request) error {
	what, err := c.replayOrderOf(r)
	if err != nil {
		return err
	}
	return c.carryOut(w, r, "events", what)
}
