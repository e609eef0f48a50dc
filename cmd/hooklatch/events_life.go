package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/outbox/tracing"
	"github.com/hooklatch/hooklatch/worker/route"
)

// life is all that is known of an event.
type life struct {
	event   *inbox.Event
	links   []ledger.EventEffect
	effects []effectDetail // of the links
	replays []inbox.EventReplay
	actions []ledger.OperatorAction // on the event and its effects by name, the oldest first

	routes      []route.Explanation
	otherRoutes bool   // the event was dispatched by another configuration
	noRoutes    string // why there are none to ask
}

// maxActions bounds what is shown of what people ordered.
const maxActions = 1_000

func (c *cli) lifeOf(ctx context.Context, o *outbox.Outbox, e *inbox.Event) (*life, error) {
	l := &life{event: e}
	var err error
	if l.links, err = o.Ledger().EffectsOfEvent(ctx, e.EventRef); err != nil {
		return nil, err
	}
	if l.effects, err = loadEffects(ctx, o, l.links); err != nil {
		return nil, err
	}
	if l.replays, err = o.Inbox().EventReplays(ctx, e.EventRef); err != nil {
		return nil, err
	}
	targets := []string{e.EventRef.String()}
	for _, link := range l.links {
		targets = append(targets, link.IdempotencyKey)
	}
	if l.actions, err = o.Ledger().OperatorLog(ctx, e.ReceivedAt, maxActions, targets...); err != nil {
		return nil, err
	}
	slices.Reverse(l.actions)
	c.explainRoutes(ctx, l)
	return l, nil
}

// explainRoutes asks the routes of the configuration, where there is one.
func (c *cli) explainRoutes(ctx context.Context, l *life) {
	cfg, err := c.loadConfig()
	if err != nil {
		l.noRoutes = "no configuration can be read here"
		return
	}
	table, err := app.Routes(cfg)
	if err != nil {
		l.noRoutes = "the routes of the configuration have problems: hooklatch check"
		return
	}
	l.routes = table.Explain(ctx, l.event)
	l.otherRoutes = l.event.ConfigHash != "" && l.event.ConfigHash != table.ConfigHash()
}

// traceOf is the id of the trace in which the event was received.
func traceOf(e *inbox.Event) string {
	if span := tracing.Parse(e.Traceparent); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// lifeView is what --json adds to an event that is shown alone.
type lifeView struct {
	TraceID string                  `json:"trace_id,omitzero"`
	Effects []plainjson.Joined      `json:"effects,omitempty"`
	Replays []inbox.EventReplay     `json:"replays,omitempty"`
	Actions []ledger.OperatorAction `json:"actions,omitempty"`
	// Routes are those of the configuration of today.
	Routes      []route.Explanation `json:"routes,omitempty"`
	OtherRoutes bool                `json:"dispatched_by_other_routes,omitzero"`
}

func (l *life) view() plainjson.Joined {
	view := lifeView{
		TraceID: traceOf(l.event), Replays: l.replays, Actions: l.actions,
		Routes: l.routes, OtherRoutes: l.otherRoutes,
	}
	for i, link := range l.links {
		view.Effects = append(view.Effects, plainjson.Joined{link, effectHistory{l.effects[i].attempts, l.effects[i].transitions}})
	}
	return plainjson.Joined{l.event, view}
}

func (c *cli) printLife(l *life) {
	c.printEvent(l.event)
	c.printRoutes(l)
	fmt.Fprintf(c.stdout, "\neffects\n")
	if len(l.effects) == 0 {
		fmt.Fprintf(c.stdout, "  none%s\n", whyNone(l.event))
	}
	for _, d := range l.effects {
		suppressed := ""
		if d.suppressed {
			suppressed = ", made by an earlier event with the same key"
		}
		fmt.Fprintf(c.stdout, "  %s  %s  %s, %s%s\n", d.IdempotencyKey, safetext.Shown(d.Destination), d.State, counted(d.Attempt, "attempt"), suppressed)
	}
	if len(l.actions) > 0 {
		fmt.Fprintf(c.stdout, "\nordered\n")
	}
	for _, a := range l.actions {
		fmt.Fprintf(c.stdout, "  %s  %s\n", shown(a.At), actionLine(a))
	}
	fmt.Fprintf(c.stdout, "\ntimeline\n")
	for _, m := range timelineOf(l.event, l.replays, l.effects) {
		fmt.Fprintf(c.stdout, "  %s  %s\n", shown(m.at), m.what)
	}
}

func (c *cli) printRoutes(l *life) {
	switch {
	case l.event.Outcome == inbox.Imported:
		return
	case l.noRoutes != "":
		fmt.Fprintf(c.stdout, "\nroutes\n  unknown: %s\n", l.noRoutes)
		return
	case l.otherRoutes:
		fmt.Fprintf(c.stdout, "\nroutes of today; the event was dispatched by others\n")
	default:
		fmt.Fprintf(c.stdout, "\nroutes\n")
	}
	if len(l.routes) == 0 {
		fmt.Fprintln(c.stdout, "  none")
	}
	for _, r := range l.routes {
		wants := "wants it"
		if !r.Wants {
			wants = "does not want it"
		}
		fmt.Fprintf(c.stdout, "  %s -> %s  %s%s\n", safetext.Shown(r.Route), safetext.Shown(r.Destination), wants, reasonSuffix(safetext.Shown(r.Why)))
	}
}

// actionLine is what a person ordered, in a line.
func actionLine(a ledger.OperatorAction) string {
	return strings.TrimSpace(fmt.Sprintf("%s of %s by %s, %s%s", a.Action, safetext.Shown(a.Target), safetext.Shown(a.Who), safetext.Shown(a.Via),
		reasonSuffix(safetext.Shown(a.Reason))))
}
