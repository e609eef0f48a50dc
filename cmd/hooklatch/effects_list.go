package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// effectFlags select the effects of a list.
type effectFlags struct{ state, destination, route, source, eventType, event string }

func (f *effectFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.destination, "destination", "", "only those to this `destination`")
	cmd.Flags().StringVar(&f.state, "state", "", "only those in this `state`: pending, started, in_doubt, done, failed, parked or cancelled; attention is in_doubt, parked or failed")
	cmd.Flags().StringVar(&f.route, "route", "", "only those of this `route`")
	cmd.Flags().StringVar(&f.source, "source", "", "only those of events of this `source`")
	cmd.Flags().StringVar(&f.eventType, "type", "", "only those of events of this `type`, like invoice.*")
	cmd.Flags().StringVar(&f.event, "event", "", "only those of this event, as `SOURCE/EVENT_ID`")
}

func (f *effectFlags) filter(s span, match *find.Match, now time.Time) (find.EffectFilter, error) {
	filter := find.EffectFilter{Destination: f.destination, Route: f.route, Source: identity.Source(f.source), Type: f.eventType, Match: match}
	state, err := oneOf("state", f.state, append(slices.Clone(effectStates), find.Attention))
	if err != nil {
		return filter, err
	}
	filter = filter.InState(state)
	if f.event != "" {
		if filter.Event, err = eventRef([]string{f.event}); err != nil {
			return filter, err
		}
	}
	filter.Since, filter.Until, err = s.times(now)
	return filter, err
}

func (c *cli) newEffectsList() *cobra.Command {
	var flags effectFlags
	var l list
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List effects, the newest first",
		Long: `List effects, the newest first: those that the flags ask for, as far back as it
takes to find --limit of them. What is rare takes a while; an interrupt prints what
was found until then. Where there may be more, the command is printed that goes on.

--when is about the event that made the effect, and reads its body as far as it is
stored. Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while
ago like 36h.`,
		Example: "  " + c.name + ` effects list --state parked --destination crm
  ` + c.name + ` effects list --event stripe/evt_123`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			match, err := l.match()
			if err := errors.Join(err, l.check()); err != nil {
				return err
			}
			filter, err := flags.filter(l.span, match, time.Now())
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if l.follow {
					return follow(cmd.Context(), c, o.Finder().FollowEffects(filter), func(e ledger.Effect) string { return lineOf(effectCells(e)) })
				}
				found, err := pages(cmd.Context(), c, find.Cursor(l.cursor), l.limit,
					func(ctx context.Context, from find.Cursor, limit int) (find.Page[ledger.Effect], error) {
						return o.Finder().Effects(ctx, filter, from, limit)
					})
				if err == nil || len(found.Rows) > 0 {
					err = errors.Join(err, c.printEffects(found.Rows))
				}
				printRest(c, cmd, found)
				return err
			})
		},
	}
	flags.register(cmd)
	l.register(cmd, "made")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printEffects(effects []ledger.Effect) error {
	header := []string{"CREATED", "EFFECT", "DESTINATION", "EVENT", "STATE", "ATTEMPTS", "LAST"}
	return printList(c, effects, "no effects", header, effectCells)
}

func effectCells(e ledger.Effect) []string {
	return []string{shown(e.CreatedAt), e.IdempotencyKey, e.Destination, causeOf(e.Event), string(e.State), strconv.Itoa(e.Attempt), lastOf(e)}
}

// causeOf is the event an effect is because of, or a dash.
func causeOf(event identity.EventRef) string {
	if event == (identity.EventRef{}) {
		return "-"
	}
	return event.String()
}

// lastOf is what the last attempt came to, in a word.
func lastOf(e ledger.Effect) string {
	switch {
	case e.ResponseStatus != 0:
		return strconv.Itoa(e.ResponseStatus)
	case e.Error != "":
		return e.Error
	}
	return "-"
}
