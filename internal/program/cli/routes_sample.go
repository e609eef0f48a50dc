package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker/route"
)

// sampleEvent selects the event of routes test.
type sampleEvent struct{ eventType, id string }

func (c *cli) newRoutesTest() *cobra.Command {
	var sample sampleEvent
	cmd := &cobra.Command{
		Use:   "test SOURCE [FILE]",
		Short: "Render the effects of a sample event",
		Long: `Apply the routes of the configuration to a sample event of a source. Print each effect
as it would be sent, and why the other routes do not match. The event is the provider's
sample, as in the command send, or has the body in FILE ("-" is standard
input). The command needs no database and sends nothing. The exit code is 1 if an effect
cannot be rendered.`,
		Example: "  " + c.Name + ` routes test stripe --type invoice.paid
  ` + c.Name + ` routes test stripe invoice.json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			tested, err := c.testRoutes(cmd.Context(), args, sample)
			if err != nil {
				return err
			}
			if c.asJSON {
				err = PrintJSON(c.Stdout, tested)
			} else {
				c.printTested(tested)
			}
			for _, one := range tested {
				if err == nil && one.unrendered {
					err = errFound
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&sample.eventType, "type", "", "`type` of the event (default one of the provider's common types)")
	cmd.Flags().StringVar(&sample.id, "id", "", "`id` of the event (default a new id)")
	c.jsonFlag(cmd)
	return cmd
}

// TestedEvent is an event with its planned effects.
type TestedEvent struct {
	Event   identity.EventRef   `json:"event"`
	Type    string              `json:"type"`
	Effects []*whatif.Effect    `json:"effects"`
	Routes  []route.Explanation `json:"routes"`

	unrendered bool
}

func (c *cli) testRoutes(ctx context.Context, args []string, sample sampleEvent) ([]TestedEvent, error) {
	cfg, err := c.loadToRun()
	if err != nil {
		return nil, err
	}
	source, err := sourceOf(cfg, args[0])
	if err != nil {
		return nil, err
	}
	provider, err := source.Sender()
	if err != nil {
		return nil, cfg.Problem("sources."+args[0], err.Error())
	}
	table, err := app.Routes(cfg)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	delivery := provider.Sample(sample.eventType, sample.id, now)
	if len(args) == 2 {
		if delivery.Body, err = c.readBody(args[1]); err != nil {
			return nil, err
		}
	}
	events, err := provider.Events(delivery)
	if err != nil {
		return nil, fmt.Errorf("find the events as %s: %w", provider.Title, err)
	}
	var tested []TestedEvent
	for _, found := range events {
		e := &inbox.Event{
			EventRef: identity.EventRef{Source: identity.Source(args[0]), EventID: identity.EventID(found.ID)}, Provider: provider.Name,
			Type: found.Type, APIVersion: found.APIVersion, OccurredAt: found.OccurredAt, ReceivedAt: now, Item: found.Item, Generation: 1, EffectGeneration: 1,
			Headers: delivery.Header, ContentType: delivery.Header.Get("Content-Type"), Body: delivery.Body,
		}
		one := TestedEvent{Event: e.EventRef, Type: e.Type, Effects: []*whatif.Effect{}, Routes: table.Explain(ctx, e)}
		if !table.LeavesToHandlers(e.Source) {
			planned, err := table.Forecast(ctx, e)
			if err != nil {
				return nil, err
			}
			for i := range planned {
				one.Effects = append(one.Effects, whatif.EffectOf(&planned[i]))
				one.unrendered = one.unrendered || planned[i].Unrendered()
			}
		}
		tested = append(tested, one)
	}
	return listed(tested), nil
}

func (c *cli) printTested(tested []TestedEvent) {
	for i, one := range tested {
		if i > 0 {
			fmt.Fprintln(c.Stdout)
		}
		fmt.Fprintf(c.Stdout, "%s  %s\n", safetext.Shown(one.Event.String()), safetext.Shown(one.Type))
		for _, e := range one.Effects {
			for j, line := range e.Lines() {
				indent := "    "
				if j == 0 {
					indent = "  "
				}
				fmt.Fprintf(c.Stdout, "%s%s\n", indent, safetext.Shown(line))
			}
		}
		for _, r := range one.Routes {
			if !r.Wants {
				fmt.Fprintf(c.Stdout, "  %s does not match: %s\n", safetext.Shown(r.Route), safetext.Shown(r.Why))
			}
		}
	}
}
