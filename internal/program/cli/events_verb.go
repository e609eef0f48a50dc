package cli

import (
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox"
)

// newEventsVerb returns the command that applies a verb to one or many events.
func (c *cli) newEventsVerb(v desk.Verb) *cobra.Command {
	f := eventsFlags{action: v.Action}
	cmd := &cobra.Command{
		Use:   v.Name + " (SOURCE EVENT_ID | FLAGS)",
		Short: v.Short,
		Long: longOf(v, "To apply the command to many events, select them with flags. The operator, time and reason are recorded.") + `

Without --yes the command counts the selected events and shows a sample. With --yes the
selection becomes a bulk run, which this command carries out. 'hooklatch runs pause',
'hooklatch runs stop' and 'hooklatch runs resume' control the run.

A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration
before now, such as 36h.`,
		Example: "  " + c.Name + " events " + v.Name + ` github 72d3162e-cc78-11e3-81ab-4c9367dc0958 --reason "asked the team"
  ` + c.Name + " events " + v.Name + " --source github --since 2h --yes",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if f.ofMany() {
					return misused("an event and a selection by flags exclude each other")
				}
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.carryOut(cmd.Context(), o, deed{Verb: v, target: desk.Target{Event: ref}}, f.by.operator())
				})
			}
			if !f.selected.given() {
				return misused("name an event, or select events with %s", f.selected.names())
			}
			o, err := f.order()
			if err != nil {
				return err
			}
			return c.carryOutMany(cmd.Context(), manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: f.by.operator(), order: o})
		},
	}
	f.register(cmd, v.Name+" ")
	c.jsonFlag(cmd)
	return cmd
}
