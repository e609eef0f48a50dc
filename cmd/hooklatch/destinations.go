package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/doctor"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/life"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

func (c *cli) newDestinations() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "destinations",
		Short: "List, pause, resume, probe and retire destinations",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newDestinationsList(), c.newDestinationsPause(), c.newDestinationsResume(),
		c.newDestinationsProbe(), c.newDestinationsRetire())
	return cmd
}

func (c *cli) newDestinationsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List destinations, and which are paused and why",
		Long: `List all destinations that a worker ever registered: whether their effects go out,
the state of their circuit breaker, how many of their effects failed or are
parked, how many running processes have them in their configuration, and who or
what paused them.`,
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
	return cmd
}

func (c *cli) printDestinations(destinations []fleet.DestinationState, counts map[string]fleet.Unsuccessful) error {
	if c.asJSON {
		all := make([]plainjson.Joined, 0, len(destinations))
		for _, d := range destinations {
			all = append(all, plainjson.Joined{d, counts[d.Name]})
		}
		return printJSON(c.stdout, all)
	}
	if len(destinations) == 0 {
		_, err := fmt.Fprintln(c.stdout, "no destinations: a worker registers those of its configuration when it starts")
		return err
	}
	t := newTable(c.stdout, "DESTINATION", "KIND", "QUEUE", "STATE", "BREAKER", "FAILED", "PARKED", "SERVED BY", "WHY")
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

// upTo is a count of effects that wait for a person.
func upTo(n int64) string { return doctor.UpTo(n, n >= fleet.MostUnsuccessful) }

// servedBy says how many processes have a destination, or when the last was seen:
// then it is in no configuration any more, or nothing runs.
func servedBy(d fleet.DestinationState) string {
	switch {
	case d.ServedBy > 0:
		return counted(d.ServedBy, "worker")
	case d.ServedAt.IsZero():
		return "nobody"
	}
	return "nobody since " + shown(d.ServedAt)
}

// whyPaused explains an operator's pause and the breaker, which are
// independent of each other.
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

func (c *cli) newDestinationsPause() *cobra.Command {
	return c.newDestinationsOrder(c.setPaused(true), &cobra.Command{
		Use:   "pause NAME",
		Short: "Let no attempt at a destination start, in any process",
		Long: `Let no attempt at a destination start, in any process, until it is resumed.
Attempts that run go on to their end. Its effects wait meanwhile, and use up no
attempts. Neither its circuit breaker nor a restart ends the pause.`,
	})
}

func (c *cli) newDestinationsResume() *cobra.Command {
	return c.newDestinationsOrder(c.setPaused(false), &cobra.Command{
		Use:   "resume NAME",
		Short: "End the pause of a destination",
		Long: `End the pause of a destination. If its circuit breaker is open, its effects still
wait until a probe succeeds, and the command says so.`,
	})
}

func (c *cli) newDestinationsProbe() *cobra.Command {
	probe := order{action: fleet.ActionProbe, unknown: c.noSuchDestination, tell: c.howProbed}
	probe.do = func(o *outbox.Outbox, ctx context.Context, name string, by ledger.Operator) error {
		return o.Fleet().ProbeNow(ctx, name, by)
	}
	return c.newDestinationsOrder(probe, &cobra.Command{
		Use:   "probe NAME",
		Short: "Attempt the oldest due effect although the breaker is open",
		Long: `Attempt the oldest due effect of a destination although its circuit breaker is open,
with its own key and body, instead of waiting for the time of the next probe. If
the receiver answers, all others go out again; if not, they wait for the next
probe. A worker begins it within ten seconds, if an effect is due.`,
	})
}

// howProbed says what comes of the order to probe a destination.
func (c *cli) howProbed(ctx context.Context, o *outbox.Outbox, name string) (string, error) {
	d, err := destinationNamed(ctx, o, name)
	switch {
	case err != nil:
		return "", err
	case d.OperatorPaused:
		return fmt.Sprintf("not probed: it is paused by %s; run: %s destinations resume %s", d.PausedBy, c.name, name), nil
	case d.Breaker == fleet.BreakerClosed:
		return "not probed: its breaker is closed, so its effects go out", nil
	case d.Breaker == fleet.BreakerHalfOpen:
		return "being probed", nil
	case d.ServedBy == 0:
		return "due for a probe: but no running process has it", nil
	}
	return "due for a probe: a worker begins it within ten seconds, if an effect is due", nil
}

// howResumed says what still holds a destination that is not paused any more.
func (c *cli) howResumed(ctx context.Context, o *outbox.Outbox, name string) (string, error) {
	d, err := destinationNamed(ctx, o, name)
	if err != nil || d.Breaker == fleet.BreakerClosed {
		return "resumed", err
	}
	return fmt.Sprintf("resumed, and its effects wait: %s; run: %s destinations probe %s", whyPaused(d), c.name, name), nil
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

func (c *cli) setPaused(paused bool) order {
	o := order{action: ledger.ActionResumeDestination, tell: c.howResumed, unknown: c.noSuchDestination}
	if paused {
		o.action, o.done, o.tell = ledger.ActionPauseDestination, "paused", nil
	}
	o.do = func(o *outbox.Outbox, ctx context.Context, name string, by ledger.Operator) error {
		return o.Fleet().SetPaused(ctx, name, paused, by)
	}
	return o
}

func (c *cli) noSuchDestination(name string) error {
	return fmt.Errorf("there is no destination %s; see them with: %s destinations list", safetext.Shown(name), c.name)
}

// newDestinationsOrder completes a command that orders something about one
// destination.
func (c *cli) newDestinationsOrder(what order, cmd *cobra.Command) *cobra.Command {
	var by operatorFlags
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
			return c.carryOut(cmd.Context(), o, what, args[0], by.operator())
		})
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}
