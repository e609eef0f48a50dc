package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

func (c *cli) newDestinations() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "destinations",
		Short: "List, pause, resume, probe and retire destinations",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newDestinationsList(), c.newDestinationsRetire())
	tell := map[string]func(context.Context, *outbox.Outbox, desk.Target) (string, error){"probe": c.howProbed, "resume": c.howResumed}
	for _, v := range desk.Of(desk.Destinations) {
		cmd.AddCommand(c.newDeed(v, "NAME", "", func(args []string) (deed, error) {
			return deed{Verb: v, target: desk.Target{Name: args[0]}, tell: tell[v.Name]}, nil
		}))
	}
	return cmd
}

func (c *cli) newDestinationsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List destinations, their state and why they are paused",
		Long: `List all destinations that a worker has registered and that are not retired. For each,
the list shows its state, its circuit breaker's state, and its number of failed and
parked effects. It also counts the running workers that have the destination in their
configuration. For a paused destination the list names the operator or breaker that
paused it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				destinations, err := o.Fleet().Destinations(cmd.Context())
				if err != nil {
					return err
				}
				counts, err := o.Fleet().Unsuccessful(cmd.Context())
				if err != nil {
					return err
				}
				return c.printDestinations(destinations, counts)
			})
		},
	}
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) printDestinations(destinations []fleet.DestinationState, counts map[string]fleet.Unsuccessful) error {
	if c.asJSON {
		all := make([]plainjson.Joined, 0, len(destinations))
		for _, d := range destinations {
			all = append(all, plainjson.Joined{d, counts[d.Name]})
		}
		return PrintJSON(c.Stdout, all)
	}
	if len(destinations) == 0 {
		_, err := fmt.Fprintln(c.Stdout, "no destinations: a worker registers the destinations in its configuration when it starts")
		return err
	}
	t := newTable(c.Stdout, "DESTINATION", "KIND", "QUEUE", "STATE", "BREAKER", "FAILED", "PARKED", "SERVED BY", "REASON")
	for _, d := range destinations {
		state := "active"
		if d.Paused() {
			state = "paused"
		}
		n := counts[d.Name]
		t.row(d.Name, d.Kind, d.Queue, state, string(d.Breaker),
			upTo(n.Failed), upTo(n.Parked), servedBy(d), whyPaused(d))
	}
	return t.flush()
}

// upTo formats a count of effects that need attention. A count that has reached its maximum gets a
// plus, because the real number may be higher.
func upTo(n int64) string { return doctor.UpTo(n, n >= fleet.MostUnsuccessful) }

// servedBy returns, as text, the number of workers that serve a destination. If no worker serves
// the destination, it was removed from the configuration, or no worker is running. The text is then
// "no worker", with the time at which a worker last served the destination, if any.
func servedBy(d fleet.DestinationState) string {
	switch {
	case d.ServedBy > 0:
		return counted(d.ServedBy, "worker")
	case d.ServedAt.IsZero():
		return "no worker"
	}
	return "no worker since " + shown(d.ServedAt)
}

// whyPaused explains an operator's pause and an open breaker, which are independent of each other.
// It returns "-" if there is neither.
func whyPaused(d fleet.DestinationState) string {
	var why []string
	if d.OperatorPaused {
		text := "paused by " + d.PausedBy
		if !d.PausedAt.IsZero() {
			text += " at " + shown(d.PausedAt)
		}
		why = append(why, text+life.ReasonSuffix(d.PauseReason))
	}
	if d.Breaker != fleet.BreakerClosed {
		text := "breaker open since " + shown(d.OpenedAt) + life.ReasonSuffix(d.BreakerReason)
		if d.Breaker == fleet.BreakerOpen {
			text += " (next probe " + shown(d.ProbeAt) + ")"
		}
		why = append(why, text)
	}
	if len(why) == 0 {
		return "-"
	}
	return strings.Join(why, "; ")
}

// howProbed returns the result of a request to probe a destination.
func (c *cli) howProbed(ctx context.Context, o *outbox.Outbox, of desk.Target) (string, error) {
	d, err := destinationNamed(ctx, o, of.Name)
	switch {
	case err != nil:
		return "", err
	case d.OperatorPaused:
		return fmt.Sprintf("not probed: it was paused by %s; resume it with: %s", d.PausedBy, c.command("destinations resume "+d.Name)), nil
	case d.Breaker == fleet.BreakerClosed:
		return "not probed: its breaker is closed and its effects are attempted", nil
	case d.Breaker == fleet.BreakerHalfOpen:
		return "being probed", nil
	case d.ServedBy == 0:
		return "due for a probe, but no running worker has it in its configuration", nil
	}
	return "due for a probe: a worker starts it within ten seconds, if an effect is due", nil
}

// howResumed returns the result of resuming a destination, with the reason why its effects still
// wait, if any.
func (c *cli) howResumed(ctx context.Context, o *outbox.Outbox, of desk.Target) (string, error) {
	d, err := destinationNamed(ctx, o, of.Name)
	if err != nil || d.Breaker == fleet.BreakerClosed {
		return "resumed", err
	}
	return fmt.Sprintf("resumed, but its effects still wait: %s; probe it with: %s", whyPaused(d), c.command("destinations probe "+d.Name)), nil
}

func destinationNamed(ctx context.Context, o *outbox.Outbox, name string) (fleet.DestinationState, error) {
	all, err := o.Fleet().Destinations(ctx)
	for _, d := range all {
		if d.Name == name {
			return d, err
		}
	}
	return fleet.DestinationState{}, err
}

func (c *cli) noSuchDestination(name string) error {
	return fmt.Errorf("no destination is named %s; list them with: %s", safetext.Shown(name), c.command("destinations list"))
}
