package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// deed is a verb that a command applies to one object.
type deed struct {
	desk.Verb

	target desk.Target
	terms  desk.Terms
	// tell returns the object's state after the verb. It is nil if this state depends only on the
	// verb.
	tell func(ctx context.Context, o *outbox.Outbox, target desk.Target) (string, error)
	// instead replaces the verb's action. It may be nil.
	instead func(ctx context.Context, by ledger.Operator) error
}

// DeedView is the result of a deed, as --json prints it.
type DeedView struct {
	Action ledger.Action `json:"action"`
	Target string        `json:"target"`
	Result string        `json:"result"`
}

func (c *cli) carryOut(ctx context.Context, o *outbox.Outbox, d deed, by ledger.Operator) error {
	if err := d.Do(ctx, o, d.target, d.terms, by); err != nil {
		return c.whyNot(d, err)
	}
	done := d.Result()
	if d.tell != nil {
		var err error
		if done, err = d.tell(ctx, o, d.target); err != nil {
			return err
		}
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, DeedView{Action: d.Action, Target: d.target.String(), Result: done})
	}
	within := ""
	if d.On == desk.Destinations { // every cell has the destination, so the output names the cell
		within = c.within
	}
	_, err := fmt.Fprintf(c.Stdout, "%s is %s%s\n", safetext.Shown(d.target.String()), done, within)
	return err
}

// whyNot converts the error of a deed into an error for the user.
func (c *cli) whyNot(d deed, err error) error {
	switch {
	case d.On == desk.Runs:
		return c.ofRun(d.target.Run, err)
	case !desk.NoSuch(err):
		return err
	case d.On == desk.Events:
		return c.noSuchEvent(d.target.Event)
	case d.On == desk.Destinations:
		return c.noSuchDestination(d.target.Name)
	}
	return c.noSuchEffect(d.target.Name)
}

// longOf returns the long help of a verb: the verb's result, followed by the text in more.
func longOf(v desk.Verb, more string) string {
	const width = 84 // width of the other help texts
	return wrappedAt(width, v.Means+" "+more, 0)
}

// newDeed returns the command that applies a verb to the object in its arguments.
func (c *cli) newDeed(v desk.Verb, arguments, more string, of func(args []string) (deed, error)) *cobra.Command {
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   v.Name + " " + arguments,
		Short: v.Short,
		Long:  longOf(v, more),
		Args:  cobra.ExactArgs(len(strings.Fields(arguments))),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := of(args)
			switch {
			case err != nil:
				return err
			case d.instead != nil:
				return d.instead(cmd.Context(), by.operator())
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				return c.carryOut(cmd.Context(), o, d, by.operator())
			})
		},
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}
