package cli

import (
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
)

func (c *cli) newEffects() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "effects",
		Short: "List, show, retry, cancel, park, resend and erase effects",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newEffectsList(), c.newEffectsShow(), c.newEffectsErase())
	for _, v := range desk.Of(desk.Effects) {
		if v.TakesRequest {
			cmd.AddCommand(c.newEffectsResend(v))
		} else {
			cmd.AddCommand(c.newEffectsVerb(v))
		}
	}
	return cmd
}
